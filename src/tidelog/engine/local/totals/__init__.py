"""Recursive `sum` and `count`: contributions, and the order of groups."""
