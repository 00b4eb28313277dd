"""Files of facts: delimited text, JSON lines, Parquet, RDF."""
