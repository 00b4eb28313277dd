"""Relations in DataFrames: layout, checkpoints, the state of a relation, staged changes."""
