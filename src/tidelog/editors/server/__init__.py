"""The language server: the protocol (`service`), checks in the background (`checking`), and positions."""
