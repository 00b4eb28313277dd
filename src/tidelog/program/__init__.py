"""From a tree to a typed program: names, types, safety, strata, and the difference of two programs."""
