"""Analyses of a program: strata, monotonicity, rules that can never fire."""
