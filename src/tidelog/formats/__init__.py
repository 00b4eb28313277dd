"""Fact files: delimited text, JSON lines, Parquet, Arrow, RDF."""
