"""The data of a session in DataFrames."""
