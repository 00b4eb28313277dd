"""Dense binary relations as bit matrices."""
