"""The operators of the circuit, one file each, under their names in the paper."""
