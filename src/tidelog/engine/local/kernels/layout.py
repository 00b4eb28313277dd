"""The memory layouts that kernels share with Python. Each layout is defined only here.

A structure is an array of words; a constant is the index of a word in it. Python and kernels both access
structures by these names and never by numbers, so they cannot disagree.

Kernels receive a relation, an index, a trace, a rule's bytecode or a loop as the address of such a structure.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ABSENT",
    "ADD",
    "ADD_DOUBLES",
    "AIMED",
    "ALIVE",
    "ARITY",
    "AT",
    "BASE",
    "BEFORE_AT",
    "BEGINS_AT",
    "BEGINS_CAP",
    "BEST_AT",
    "BEST_CAP",
    "BEST_COLUMN",
    "BEST_ENTRIES",
    "BEST_ENTRIES_AT",
    "BEST_WIDTH",
    "BIND",
    "BIND_SOME",
    "BOUNDS",
    "BOUNDS_COLUMN",
    "BOUNDS_WIDTH",
    "BUCKETS",
    "BYTES",
    "BYTES_AT",
    "BYTES_CAP",
    "CAP",
    "CELLS_AT",
    "CELLS_MORE",
    "CELL_COUNT",
    "CELL_RANK",
    "COLUMNS",
    "COLUMNS_FROM",
    "COL_COLUMN",
    "COL_FROM",
    "COL_OP",
    "COL_SLOT",
    "COL_TO",
    "COL_WIDTH",
    "COVERED",
    "CUR",
    "CURSOR",
    "DELTA",
    "DELTA_FROM",
    "DELTA_TO",
    "DIVIDE_DOUBLES",
    "DONE",
    "EMIT",
    "EMITTED",
    "END",
    "ENTRIES",
    "ENTRIES_AT",
    "ENTRIES_CAP",
    "ENTRY_ROW",
    "ENTRY_WIDTH",
    "EQ",
    "EQUAL",
    "EQUAL_SOME",
    "FAILED",
    "FAILURES",
    "FIL_FROM",
    "FIL_KEYS",
    "FIL_LEFT",
    "FIL_OP",
    "FIL_RIGHT",
    "FIL_TO",
    "FIL_WIDTH",
    "FIRST_AT",
    "FIRST_CAP",
    "FOLLOWING",
    "FOLLOWING_AT",
    "FOUND",
    "FRESH_FROM",
    "GE",
    "GIVEN_AT",
    "GROUPED",
    "GROUPED_AT",
    "GROW_BEST",
    "GROW_INDEX",
    "GROW_LIST",
    "GROW_OUT",
    "GROW_TABLE",
    "GROW_TRACE",
    "GT",
    "HEAD",
    "HEADER",
    "HEADS",
    "HEADS_AT",
    "HIGH",
    "HIGHEST",
    "HINTS",
    "IMPROVE",
    "INDEX",
    "INSERT",
    "INSTANCE",
    "INSTANCES",
    "IN_PLACE",
    "IS_ABOVE_LOW",
    "IS_BELOW_HIGH",
    "IS_LARGEST",
    "IS_MIDWAY",
    "ITERATION",
    "KEYS",
    "KEY_CHECKS",
    "KEY_COLUMN",
    "KEY_FROM",
    "KEY_SLOT",
    "KEY_TO",
    "KEY_WIDTH",
    "KIND",
    "KNOWN",
    "KNOWN_AT",
    "LE",
    "LEVEL",
    "LEVELS",
    "LEVEL_WIDTH",
    "LIST",
    "LISTED",
    "LOGGED",
    "LOG_AT",
    "LOG_BASE",
    "LOG_CAP",
    "LOG_ENTRY",
    "LOG_LENGTH",
    "LOG_WEIGHT",
    "LOG_WIDTH",
    "LOOKUP",
    "LOOP_HEADER",
    "LOOP_MODE",
    "LOOP_RANK",
    "LOOP_RELATIONS",
    "LOOP_RULES",
    "LOW",
    "LT",
    "MASK",
    "MEMBER",
    "MINUS",
    "MODE",
    "MOST_PENDING",
    "MULTIPLY_DOUBLES",
    "NE",
    "NEW_KEYS",
    "NEXT",
    "NONE",
    "NOTED",
    "NOT_BEGUN",
    "OLD",
    "ORDER_AT",
    "ORIGIN",
    "OTHERS",
    "OUT_AT",
    "OUT_CAP",
    "OVERDELETE",
    "PART_COLUMN",
    "PART_FROM",
    "PART_ROUNDS",
    "PAUSE",
    "PENDING",
    "PENDING_FROM",
    "PENDING_HASH",
    "PENDING_MORE",
    "PENDING_RANK",
    "PENDING_TIMES",
    "PENDING_TO",
    "PLUS",
    "POSITION",
    "QUEUED",
    "QUEUES_AT",
    "QUEUES_CAP",
    "RANGE",
    "RANK",
    "RANKED",
    "RANKS_AT",
    "REDERIVE",
    "REL",
    "REMOVE",
    "REPLACE",
    "RESULT_HIGH",
    "RESULT_LOW",
    "RESULT_SLOT",
    "ROUNDS",
    "ROWS",
    "SCAN",
    "SEARCHES",
    "SEEDS_TO",
    "SETTLE",
    "SLOTS",
    "SLOTS_AT",
    "SOURCE",
    "STARTS_AT",
    "STEPS",
    "STRIDE",
    "SUBTRACT",
    "SUBTRACT_DOUBLES",
    "TABLE_WIDTH",
    "TAG_AT",
    "TARGET",
    "TEMP",
    "TEXTS",
    "TEXTS_WIDTH",
    "TEXT_SLOTS",
    "TEXT_SLOTS_AT",
    "TIMES",
    "TRACE_AT",
    "TRACE_WIDTH",
    "TUPLE",
    "UNCOVERED",
    "UNDO_AT",
    "UNDO_CAP",
    "UNDO_COUNT",
    "UNDO_LENGTH",
    "UNDO_RANK",
    "UNDO_ROW",
    "UNDO_TAG",
    "UNDO_WIDTH",
    "UNKNOWN",
    "UNSETTLED",
    "WAITING",
    "WANTED",
    "WEIGHT",
    "WIDE",
    "WIDEN",
    "WIDTH",
    "WORKLIST_AT",
    "WORKLIST_CAP",
]

NONE: Final = -(2**63)  # the code of `none`, in every column

# -- a table: its arrays; in a commit, the worklist (the delta is a slice of it) and the undo log; its trace
CELLS_AT, ARITY, STRIDE, WIDE, CAP, ROWS, TAG_AT, SLOTS_AT, SLOTS, BASE, GIVEN_AT = range(11)
WORKLIST_AT, WORKLIST_CAP, LISTED, DELTA_FROM, DELTA_TO = range(11, 16)
UNDO_AT, UNDO_CAP, UNDO_LENGTH, TRACE_AT, BEST_AT, TABLE_WIDTH = range(16, 22)

# the tag of a row, in bits
ALIVE, OLD, CUR, NEXT, LOGGED = 1, 2, 4, 8, 16

# the cells of a row after its codes: its rank, and how many instances support it
CELL_RANK, CELL_COUNT, CELLS_MORE = range(3)

# an entry of the undo log: a row, and its state before the commit
UNDO_ROW, UNDO_TAG, UNDO_RANK, UNDO_COUNT, UNDO_WIDTH = range(5)

# the word of a count: INSTANCE times the number of instances, and OTHERS (see `support`)
INSTANCE, OTHERS = 2, 1

# the ranks of tuples that need one, and of those that could not be given one
AIMED, UNSETTLED = -1, 2**62

# -- an index: rows by buckets and newer ones in chains, or sorted rows; then its columns
STARTS_AT, BUCKETS, GROUPED_AT, GROUPED, HEADS_AT, HEADS, FOLLOWING_AT, COVERED, ORDER_AT = range(9)
COLUMNS, COLUMNS_FROM = range(9, 11)

# -- a trace: its arrays and how much of them is in use
ENTRIES_AT, ENTRIES_CAP, ENTRIES, FIRST_AT, FIRST_CAP, QUEUES_AT, QUEUES_CAP = range(7)
WAITING, LOG_AT, LOG_CAP, LOG_LENGTH, LOG_BASE, WANTED, TRACE_WIDTH = range(7, 14)

# an entry of a trace, in words of 32 bits; its weight is a word of 64 bits, the second of these
ENTRY_ROW, ITERATION, WEIGHT, FOLLOWING, QUEUED, NOTED, ENTRY_WIDTH = 0, 1, 2, 4, 5, 6, 8

# an entry of the log of a trace: an entry, and its weight before the commit
LOG_ENTRY, LOG_WEIGHT, LOG_WIDTH = range(3)

# -- the best values of a relation: the column; whether larger ones are better; the ranks of codes or 0; a
# hash table of 1 more than the best row of a key and half the hash of the key; its size; its entries in use;
# an index of the rows before by their keys or 0, and then 1 more than the row before for each entry
BEST_COLUMN, IS_LARGEST, RANKS_AT, BEST_ENTRIES_AT, BEST_CAP, BEST_ENTRIES, KEYS, BEFORE_AT = range(8)
# in REPLACE: the number of keys that had no row; the first of the rows that are not in the hash table of the
# relation yet; and whether their values may change
NEW_KEYS, FRESH_FROM, IN_PLACE, BEST_WIDTH = range(8, 12)

# -- the texts of a dictionary: their bytes, where each begins, a hash table, and how much is in use
BYTES_AT, BYTES_CAP, BYTES, BEGINS_AT, BEGINS_CAP, TEXTS, TEXT_SLOTS_AT, TEXT_SLOTS, TEXTS_WIDTH = range(9)

# -- the bytecode of a rule: a header
LEVELS, LEVEL, TARGET, MODE, RANK, HEAD, WIDTH, SOURCE = range(8)
INSTANCES, STEPS, OUT_AT, OUT_CAP, EMITTED, TUPLE, ORIGIN = range(8, 15)
PENDING, PENDING_FROM, PENDING_TO, SEARCHES, KNOWN_AT, KNOWN, HINTS, FAILURES, HEADER = range(15, 24)
NOT_BEGUN = -2  # a value of LEVEL

# heads that are not applied yet, each with half its hash, the highest rank of its instance, and the number of
# its instances; with SEARCHES, those that change more than a count are emitted in this form
MOST_PENDING = 32
PENDING_HASH, PENDING_RANK, PENDING_TIMES, PENDING_MORE = range(4)

# a level for each atom, and one for the head
KIND, REL, MASK, INDEX, KEY_FROM, KEY_TO, COL_FROM, COL_TO = range(8)
FIL_FROM, FIL_TO, RANKED, AT, END, CURSOR, HIGHEST, BOUNDS, LEVEL_WIDTH = range(8, 17)
LIST, DELTA, SCAN, LOOKUP, RANGE, MEMBER, TEMP = range(7)  # its KIND

# a key: a column, a slot, and whether `none` in it matches nothing
KEY_COLUMN, KEY_SLOT, KEY_CHECKS, KEY_WIDTH = range(4)

# a column: its number, its operation, and a slot
COL_COLUMN, COL_OP, COL_SLOT, COL_WIDTH = range(4)
BIND, EQUAL, BIND_SOME, EQUAL_SOME = range(4)  # its operation; the last two reject `none`

# a filter: an operation, then two slots and, if it computes a value, the position of its result; or a
# relation, the tags that refute, and the keys
FIL_OP, FIL_LEFT, FIL_RIGHT, FIL_KEYS, FIL_WIDTH = range(5)
EQ, NE, LT, LE, GT, GE, ABSENT = range(7)  # its operation
PLUS, MINUS, TIMES, ADD_DOUBLES, SUBTRACT_DOUBLES, MULTIPLY_DOUBLES, DIVIDE_DOUBLES = range(7, 14)

# a result: its slot, and the smallest and largest value of its type
RESULT_SLOT, RESULT_LOW, RESULT_HIGH = range(3)

# the bounds of a range: a column; the slots of the bounds, or 0; whether each is excluded
BOUNDS_COLUMN, LOW, IS_ABOVE_LOW, HIGH, IS_BELOW_HIGH, BOUNDS_WIDTH = range(6)

# modes: what is done with a derived head
INSERT, REMOVE, REDERIVE, EMIT, SETTLE, OVERDELETE, ADD, SUBTRACT, IMPROVE, REPLACE = range(10)

# the status that a kernel returns
DONE, GROW_TABLE, GROW_LIST, GROW_OUT, GROW_INDEX, GROW_TRACE, GROW_BEST = range(7)
WIDEN, PAUSE, UNKNOWN, FAILED = range(7, 11)

# -- a loop: its header, then its relations, its rules, and the number of instances of each rule
LOOP_RULES, LOOP_RELATIONS, POSITION, ROUNDS, LOOP_RANK, LOOP_MODE, FOUND = range(7)
# if it runs by partitions: their column or -1, where the seeds of the next one begin, where those of the last
# one end, the number of rounds of this one, and whether a rule is to be resumed
PART_COLUMN, PART_FROM, SEEDS_TO, PART_ROUNDS, IS_MIDWAY, LOOP_HEADER = range(7, 13)

UNCOVERED = 64  # up to so many rows that an ordered index lacks are scanned
