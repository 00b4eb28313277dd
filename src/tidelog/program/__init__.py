"""From a tree to a typed program: names, types, safety, strata, and the difference between two programs."""
