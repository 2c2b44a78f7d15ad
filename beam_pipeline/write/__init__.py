"""Write, the fourth stage: encode and write shards, then commit the dataset."""
