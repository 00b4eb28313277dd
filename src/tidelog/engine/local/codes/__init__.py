"""Values as 64-bit codes: the codec, its dictionaries, Arrow tables as codes, garbage collection."""
