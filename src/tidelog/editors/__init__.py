"""What editors need: highlighting, completion, and a language server.

`tokens` is the one definition of how a text is highlighted. The REPL, the Pygments lexer and the language
server use it directly; `textmate` makes a grammar from the same words, for editors that highlight by
themselves. Everything else works on a text as it is being written: with errors, unsaved, and edited at every
key.
"""
