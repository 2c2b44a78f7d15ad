"""Images, audio or arrays in folders."""
