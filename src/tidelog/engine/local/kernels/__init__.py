"""All compiled code, and the memory layouts that it shares with Python. Imports nothing else of Tidelog."""
