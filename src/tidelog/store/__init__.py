"""Facts in and out: Arrow tables of a relation's exact types, made from frames, rows and files."""
