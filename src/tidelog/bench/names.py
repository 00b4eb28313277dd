"""Names of what the experiments compare.

| reasoner | what it is |
|---|---|
| `chibi`, `chibi-indexed` | the substitution-based interpreter, recomputing at every change |
| `circuit`, `circuit-indexed` | the DBSP circuit of the dynamic interpreter |
| `relational` | select, project and join, with delete and re-derive: the strategy `dred` |
| `differential`, `elastic`, `recompute` | the strategies of these names |

The first four are the reference reasoners: plain Python, slow and correct.

A place is where a program runs: in process, or on Spark in one of two placements of its DataFrames.
"""

from __future__ import annotations

from typing import Final

__all__ = ["IN_PROCESS", "PLACES", "REASONERS", "SHARES", "STRATEGY_OF", "WAYS"]

STRATEGY_OF: Final = {
    "relational": "dred",
    "differential": "differential",
    "elastic": "elastic",
    "recompute": "recompute",
}
REASONERS: Final = ("chibi", "chibi-indexed", "circuit", "circuit-indexed", *STRATEGY_OF)
SHARES: Final = (0.999, 0.99, 0.9, 0.75, 0.5)  # of the facts, loaded before the others are added
WAYS: Final = ("bootstrap", "update", "switch")  # to run a commit
IN_PROCESS: Final = "in process"
PLACES: Final = (IN_PROCESS, "tasks", "shuffled")
