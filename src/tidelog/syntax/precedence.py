"""How tightly operators bind: the table that the parser and the printer share.

From loosest to tightest: `if` and closures, `or`, `and`, `not`, comparisons and `in` (which do not chain),
`|`, `^`, `&`, shifts, `++`, `+ - +% -%`, `* / % *%`, `as`, unary `- ~` and `name @ pattern`, and what follows
a value: method calls (`.function(…)`), fields (`.name`, `.0`), slices (`[7:0]`) and `?`.
"""

from __future__ import annotations

__all__ = ["BINARY", "CAST", "COMPARISON", "LOOSEST", "NOT", "POSTFIX", "UNARY"]

LOOSEST, NOT, COMPARISON, CAST, UNARY, POSTFIX = 0, 3, 4, 12, 13, 14
_LEVELS = (
    "or",
    "and",
    "",
    "== != < <= > >= in",
    "|",
    "^",
    "&",
    "<< >>",
    "++",
    "+ - +% -%",
    "* / % *%",
)
BINARY = {op: level for level, ops in enumerate(_LEVELS, start=1) for op in ops.split()}
