"""Planning: turns a typed program into flat rules over stored relations, and orders their joins."""
