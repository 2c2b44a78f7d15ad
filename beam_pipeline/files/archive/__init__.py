"""Archives: their members are byte ranges, and files of a tree that lies inside."""
