"""The engine in this process: columns of 64-bit integers, NumPy and Numba."""
