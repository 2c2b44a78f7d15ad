"""Object stores: what a URL means, one client a bucket, and what goes wrong."""
