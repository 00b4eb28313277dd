"""Sinks: results written so that readers always find one whole version."""
