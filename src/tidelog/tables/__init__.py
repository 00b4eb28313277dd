"""Users' data as checked Arrow tables of a relation's exact types."""
