"""The durable store: versioned relations on disk. The last complete version is always readable."""
