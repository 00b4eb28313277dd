"""The operators of the circuit, one per file, under their names in the paper."""
