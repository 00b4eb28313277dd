"""User data as validated Arrow tables with exactly a relation's types."""
