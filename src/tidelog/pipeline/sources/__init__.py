"""Sources: find them, detect changes, read and check their rows."""
