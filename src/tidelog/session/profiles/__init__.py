"""Profiles: where the time of commits goes, and which rule to look at (`profile` is the door)."""
