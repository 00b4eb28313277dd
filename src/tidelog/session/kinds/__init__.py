"""Relations of other kinds in a session: multisets, streams and earlier commits (`layer` is the door)."""
