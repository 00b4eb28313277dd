"""From a tree to a typed, safe, stratified program: names, types, safety, strata, and the difference of two."""
