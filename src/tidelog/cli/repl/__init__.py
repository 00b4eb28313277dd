"""The REPL: declarations, rules, facts, queries and commands, typed in or read from a file.

`statements` reads what is typed, `console` executes it on a session, `commands` has what begins with a colon
(with `loading` and `saving`), and `showing` says what changed. They take texts and give texts, and know no
terminal. `terminal` connects them with one, with `completion` and `highlighting`, and `scripts` with files
and pipes.
"""
