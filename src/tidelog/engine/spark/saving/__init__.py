"""States of sessions in DataFrames, as files: what a pipeline saves beside its store to go on from."""
