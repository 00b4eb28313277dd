"""From text to tree and back: lexer, parser, tree, printer. Handles syntax only, not meaning."""
