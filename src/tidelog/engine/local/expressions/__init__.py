"""Expressions, functions and aggregates on columns of codes."""
