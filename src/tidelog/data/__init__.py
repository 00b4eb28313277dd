"""Shared by every layer: types, values with their order, and Z-sets. Plain Python, no dependencies."""
