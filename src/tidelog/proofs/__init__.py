"""Why a row is there: proofs, down to asserted facts; and why a row is not there.

A proof is a finite set of steps, one for each fact, in an order in which every step rests only on facts of
steps before it. `search` finds the steps, top-down from the fact and over the current rows; `candidates` has
the steps to one fact, and `bodies` finds the instances of one body. `history` replays recursions that keep
one row per key. `checking` verifies proofs, and `proof` and `wording` show them.

`refuting` finds what keeps a row away, one level deep, and `remedies` the single changes that would help.
`confirming` verifies refutations, and `refutation` shows them.

All of this works on the typed program and reads rows through one small protocol (`state`). So it knows
neither plans nor strategies, and hidden relations never appear.
"""
