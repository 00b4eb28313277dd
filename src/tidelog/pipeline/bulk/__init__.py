"""Rows that are too many for the driver: from sources to the store and to sinks, they stay in DataFrames."""
