"""Archives read in place: members as byte ranges, and as files of a folder tree."""
