"""What is derived from a typed program: strata, monotonicity, rules that can never fire."""
