"""Where things are in the words of frames and loops, which `frame` and `loop` write and kernels read."""

from __future__ import annotations

__all__ = [
    "ABSENT",
    "AT",
    "BIND",
    "BIND_SOME",
    "BOUNDS",
    "BOUNDS_WIDTH",
    "CHAIN",
    "COL_FROM",
    "COL_TO",
    "COL_WIDTH",
    "CURSOR",
    "DELTA",
    "EMITTED",
    "END",
    "EQ",
    "EQUAL",
    "EQUAL_SOME",
    "FIL_FROM",
    "FIL_TO",
    "FIL_WIDTH",
    "FOUND",
    "FRAMES",
    "GE",
    "GT",
    "HEAD",
    "HEADER",
    "HIGHEST",
    "INDEX",
    "INSTANCES",
    "KEY_FROM",
    "KEY_TO",
    "KEY_WIDTH",
    "KIND",
    "LE",
    "LEVEL",
    "LEVELS",
    "LEVEL_WIDTH",
    "LIST",
    "LOOP_HEADER",
    "LOOP_MODE",
    "LOOP_RANK",
    "LT",
    "MASK",
    "MEMBER",
    "MODE",
    "NE",
    "NOT_BEGUN",
    "ORIGIN",
    "OUT_AT",
    "OUT_CAP",
    "POSITION",
    "RANGE",
    "RANK",
    "RANKED",
    "REL",
    "RELATIONS",
    "ROUNDS",
    "SCAN",
    "SOURCE",
    "STEPS",
    "TARGET",
    "TEMP",
    "TUPLE",
    "UNCOVERED",
    "WIDTH",
]

# a frame's header
LEVELS, LEVEL, TARGET, MODE, RANK, HEAD, WIDTH, SOURCE = range(8)
INSTANCES, STEPS, OUT_AT, OUT_CAP, EMITTED, TUPLE, ORIGIN, HEADER = range(8, 16)
NOT_BEGUN = -2  # of LEVEL

# a level
KIND, REL, MASK, INDEX, KEY_FROM, KEY_TO, COL_FROM, COL_TO = range(8)
FIL_FROM, FIL_TO, RANKED, AT, END, CURSOR, HIGHEST, BOUNDS, LEVEL_WIDTH = range(8, 17)
LIST, DELTA, SCAN, CHAIN, RANGE, MEMBER, TEMP = range(7)

# a key: column, slot, whether none matches nothing
KEY_WIDTH = 3
# a column: which, what to do, slot
COL_WIDTH = 3
BIND, EQUAL, BIND_SOME, EQUAL_SOME = range(4)  # the last two refuse none
# a filter: what, then its operands
FIL_WIDTH = 4
EQ, NE, LT, LE, GT, GE, ABSENT = range(7)
# the bounds of a range: column; slot of the lower bound or 0, whether it is left out; the same for the upper
BOUNDS_WIDTH = 5

# a loop: its header, then its relations, its frames, and the instances of each frame
FRAMES, RELATIONS, POSITION, ROUNDS, LOOP_RANK, LOOP_MODE, FOUND, LOOP_HEADER = range(8)

UNCOVERED = 64  # rows after those in order that are looked at one by one
