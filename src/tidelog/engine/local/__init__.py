"""The in-process engine: columns of 64-bit integers, NumPy and Numba."""
