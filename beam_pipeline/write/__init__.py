"""Write, the fourth stage: shards are encoded and written, then committed."""
