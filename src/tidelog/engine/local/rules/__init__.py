"""Rules at work: compiled to bytecode, cached and run, with groups and rounds."""
