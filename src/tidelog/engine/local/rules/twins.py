"""Two atoms that have to agree on some variables, of which either can be looked up first.

In a triangle `E(a, b), E(b, c), E(a, c)`, once `a` and `b` are known, the rows of `b` can be looked up and
the pairs of `a` and `c` tested, or the rows of `a` looked up and the pairs of `b` and `c` tested. Kernels do
what has fewer rows for each `a` and `b`. So the work is bound by the smaller of both lists, which makes an
order as good as a worst-case optimal one where a few values have most of the rows.

The *twin* of two levels is the other way to run them, in words of the same form, and its hints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.engine.local.kernels import layout
from tidelog.engine.local.rules.compiler import Level
from tidelog.engine.local.storage.index import Buckets
from tidelog.engine.local.storage.table import Table

__all__ = ["add_twins"]


def add_twins(
    words: list[int], levels: Sequence[Level], tables: Mapping[str, Table], slots: int
) -> tuple[int, list[tuple[Buckets, Table]]]:
    """Add the twins of levels to the words of bytecode, with the indexes that they look up.

    Returns the position of a list with that of the twin of each level, or 0 where it has none; 0 if no level
    has one.
    """
    places, indexes = [0] * len(levels), []
    for number in range(1, len(levels) - 1):
        first, second = levels[number : number + 2]
        index = _index(words, number, first, second, tables)
        if index is None or second.join is None:
            continue
        at = layout.HEADER + number * layout.LEVEL_WIDTH
        places[number] = _add_twin(words, at, first, second, index, slots)
        indexes.append((index, tables[second.join.relation]))
    if not indexes:
        return 0, []
    words += places
    return len(words) - len(places), indexes


def _index(
    words: Sequence[int], number: int, first: Level, second: Level, tables: Mapping[str, Table]
) -> Buckets | None:
    """The index for looking up the second of two levels first; None if there is none, or it is of no use."""
    at = layout.HEADER + number * layout.LEVEL_WIDTH
    kinds = words[at + layout.KIND], words[at + layout.LEVEL_WIDTH + layout.KIND]
    if kinds != (layout.LOOKUP, layout.MEMBER) or first.join is None or second.join is None or first.tests:
        return None
    bound = [slot for _, _, slot in first.columns]
    keys = [slot for _, slot, _ in second.keys]
    is_plain = all(op == layout.BIND for _, op, _ in first.columns)
    is_plain = is_plain and not any(checks for _, _, checks in (*first.keys, *second.keys))
    is_whole = len(first.keys) + len(bound) == tables[first.join.relation].arity
    if not is_plain or not is_whole or len(set(bound)) < len(bound):
        return None
    if any(keys.count(slot) != 1 for slot in bound):
        return None
    known = tuple(column for column, slot, _ in second.keys if slot not in bound)
    return tables[second.join.relation].indexes.get(known)


def _add_twin(words: list[int], at: int, first: Level, second: Level, index: Buckets, slots: int) -> int:
    """Add the words of two levels in which the second is looked up; returns their position."""
    width = layout.LEVEL_WIDTH
    looked, tested = words[at + width : at + 2 * width], words[at : at + width]
    bound = {slot for _, _, slot in first.columns}
    looked[layout.KIND], looked[layout.INDEX] = layout.LOOKUP, index.at
    tested[layout.KIND], tested[layout.INDEX] = layout.MEMBER, 0
    keys = [x for c, slot, checks in second.keys if slot not in bound for x in (c, slots + slot, checks)]
    columns = [x for c, slot, _ in second.keys if slot in bound for x in (c, layout.BIND, slots + slot)]
    of_columns = [(c, slot, 0) for c, _, slot in first.columns]
    # in the order in which tuples are hashed
    all_keys = [
        x for c, slot, checks in sorted([*first.keys, *of_columns]) for x in (c, slots + slot, checks)
    ]
    _span(words, looked, layout.KEY_FROM, keys)
    _span(words, looked, layout.COL_FROM, columns)
    _span(words, tested, layout.KEY_FROM, all_keys)
    _span(words, tested, layout.COL_FROM, [])
    # conditions stay at their level
    for field in (layout.FIL_FROM, layout.FIL_TO):
        looked[field], tested[field] = tested[field], looked[field]
    words += (*looked, *tested, 0)
    return len(words) - layout.TWIN_WIDTH


def _span(words: list[int], level: list[int], field: int, added: Sequence[int]) -> None:
    """Add words and store in a level where they begin and end."""
    level[field] = len(words)
    words += added
    level[field + 1] = len(words)
