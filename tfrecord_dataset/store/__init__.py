"""Object stores: URLs, one client per bucket, and error handling."""
