"""What to do on a commit: strategies as scripts, which are data. Engines run them; none is known here."""
