"""The compiled kernels: how they are built, found, loaded and called."""
