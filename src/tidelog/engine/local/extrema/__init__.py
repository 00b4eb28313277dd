"""The best value per key, for recursive `min` and `max`."""
