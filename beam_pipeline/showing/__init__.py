"""Records for people: as text, and their images with what is known of them drawn."""
