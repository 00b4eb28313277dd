"""The durable store: relations on disk, in versions, of which the last complete one is always readable."""
