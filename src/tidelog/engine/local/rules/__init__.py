"""Rule evaluation: rules are compiled to bytecode, cached and run, with groups and rounds."""
