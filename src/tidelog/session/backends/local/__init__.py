"""The data of a session in this process."""
