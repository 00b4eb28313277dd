"""Folders of Parquet files that changes are merged into: their layout, and how to read them."""
