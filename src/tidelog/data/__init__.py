"""What every layer speaks: types, values with their order, and Z-sets. Plain Python, no dependencies."""
