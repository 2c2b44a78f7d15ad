"""Tables: files of rows, of which each row is a record or a part of one."""
