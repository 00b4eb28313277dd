"""From syntax to a typed program: names, types, safety, warnings."""
