"""All compiled code, and the memory layouts that it shares with Python. Imports no other Tidelog package."""
