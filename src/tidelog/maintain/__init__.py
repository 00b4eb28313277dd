"""Maintenance strategies produce scripts, which are data. Engines run them; this package knows no engine."""
