"""From text to tree and back: lexer, parser, tree, printer. Knows form, not meaning."""
