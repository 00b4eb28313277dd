"""Rules as joins of DataFrames: instances, conditions, groups."""
