"""Engines run plans. Each engine is loaded by name, so importing Tidelog imports no engine."""
