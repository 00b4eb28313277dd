"""Sinks: results are written so that readers always see one complete version."""
