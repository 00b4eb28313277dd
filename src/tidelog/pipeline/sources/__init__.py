"""Sources: where they are, whether they changed, and their rows, checked."""
