"""The memory layouts that kernels share with Python. Each layout is defined only here.

A structure is an array of words; a constant is the index of a word in it. Python and kernels both access
structures by these names and never by numbers, so they cannot disagree.

Kernels receive a relation, an index, a trace, a rule's bytecode or a loop as the address of such a structure.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ABSENT",
    "ABSENT_PAIR",
    "ADD",
    "ADD_DOUBLES",
    "AGAIN",
    "AIMED",
    "ALIVE",
    "APPLY",
    "ARITY",
    "AT",
    "BASE",
    "BEFORE_AT",
    "BEGIN",
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
    "BITS",
    "BIT_RELATION_WIDTH",
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
    "COLUMN",
    "COLUMNS",
    "COLUMNS_FROM",
    "COL_COLUMN",
    "COL_FROM",
    "COL_OP",
    "COL_SLOT",
    "COL_TO",
    "COL_WIDTH",
    "CONTINUE",
    "COUNTS_AT",
    "COVERED",
    "CUR",
    "CURSOR",
    "DELETED",
    "DELETED_AT",
    "DELTA",
    "DELTA_FROM",
    "DELTA_TO",
    "DIAGONAL",
    "DIAGONAL_LIST",
    "DIVIDE_DOUBLES",
    "DONE",
    "EMIT",
    "EMITTED",
    "EMIT_ALL",
    "EMIT_CHANGES",
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
    "HALVES",
    "HASHED",
    "HEAD",
    "HEADER",
    "HEADS",
    "HEADS_AT",
    "HIGH",
    "HIGHEST",
    "HINTS",
    "IDS_AT",
    "IMPROVE",
    "INDEX",
    "INSERT",
    "INSERTED",
    "INSERTED_AT",
    "INSTANCE",
    "INSTANCES",
    "IN_PLACE",
    "IS_ABOVE_LOW",
    "IS_BELOW_HIGH",
    "IS_LARGEST",
    "IS_MIDWAY",
    "IS_PLAIN",
    "ITEMS",
    "ITEMS_AT",
    "ITEMS_CAP",
    "ITEMS_EACH",
    "ITERATION",
    "JOINED",
    "JOINED_HALF",
    "JOINED_ROW",
    "JOINED_WIDTH",
    "KEYS",
    "KEY_CHECKS",
    "KEY_COLUMN",
    "KEY_FROM",
    "KEY_SLOT",
    "KEY_SOURCES",
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
    "LOOP_STEPS",
    "LOW",
    "LT",
    "MASK",
    "MATRIX_WIDTH",
    "MEMBER",
    "MINUS",
    "MODE",
    "MOSTLY_NEW",
    "MOST_HASHED",
    "MOST_JOINED",
    "MOST_PENDING",
    "MULTIPLY_DOUBLES",
    "NAMES_AT",
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
    "PAIR",
    "PAIRS",
    "PARTS_HEADER",
    "PARTS_POSITION",
    "PARTS_RANK",
    "PARTS_ROUNDS",
    "PARTS_RULES",
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
    "PLACE",
    "PLACES",
    "PLACES_LIST",
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
    "REPEATED",
    "REPLACE",
    "RESULT_HIGH",
    "RESULT_LOW",
    "RESULT_SLOT",
    "RESUME",
    "ROUNDS",
    "ROW",
    "ROWS",
    "ROWS_AT",
    "ROW_WORDS",
    "SCAN",
    "SCANNED",
    "SEARCHED",
    "SEARCHED_AT",
    "SEARCHES",
    "SEEDS_TO",
    "SETTLE",
    "SHARES",
    "SLOTS",
    "SLOTS_AT",
    "SOURCE",
    "STARTS_AT",
    "STEPS",
    "STEP_CODE",
    "STEP_INSTANCES",
    "STEP_LIST",
    "STEP_ROWS",
    "STEP_STEPS",
    "STEP_TABLE",
    "STEP_WIDTH",
    "STRIDE",
    "SUBTRACT",
    "SUBTRACT_DOUBLES",
    "TABLE_WIDTH",
    "TAG_AT",
    "TARGET",
    "TEMP",
    "TERMS",
    "TERMS_WIDTH",
    "TERM_SLOTS",
    "TERM_SLOTS_AT",
    "TERM_STARTS_AT",
    "TERM_STARTS_CAP",
    "TEXTS",
    "TEXTS_WIDTH",
    "TEXT_SLOTS",
    "TEXT_SLOTS_AT",
    "TIMES",
    "TRACE_AT",
    "TRACE_WIDTH",
    "TRANSPOSED",
    "TUPLE",
    "TWINS",
    "TWIN_HINTS",
    "TWIN_WIDTH",
    "UNBUILT",
    "UNCOVERED",
    "UNDO_AT",
    "UNDO_CAP",
    "UNDO_COUNT",
    "UNDO_LENGTH",
    "UNDO_RANK",
    "UNDO_ROW",
    "UNDO_TAG",
    "UNDO_WIDTH",
    "UNFIT",
    "UNKNOWN",
    "UNSETTLED",
    "VARYING",
    "WAITING",
    "WANTED",
    "WEIGHT",
    "WIDE",
    "WIDEN",
    "WIDTH",
    "WORD",
    "WORKLIST_AT",
    "WORKLIST_CAP",
]

NONE: Final = -(2**63)  # the code of `none`, in every column

# -- a table: its arrays; in a commit, the worklist (the delta is a slice of it) and the undo log; its trace;
# lists of rows that rules start from: those inserted and deleted, and suspects
CELLS_AT, ARITY, STRIDE, WIDE, CAP, ROWS, TAG_AT, SLOTS_AT, SLOTS, BASE, GIVEN_AT = range(11)
WORKLIST_AT, WORKLIST_CAP, LISTED, DELTA_FROM, DELTA_TO = range(11, 16)
UNDO_AT, UNDO_CAP, UNDO_LENGTH, TRACE_AT, BEST_AT = range(16, 21)
INSERTED_AT, INSERTED, DELETED_AT, DELETED, SEARCHED_AT, SEARCHED, TABLE_WIDTH = range(21, 28)

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

# -- a matrix: its rows, their words, the row of each place, and the number of places
ROWS_AT, ROW_WORDS, IDS_AT, PLACES, MATRIX_WIDTH = range(5)

# a relation as bit rows: the matrices before and after the commit, the same transposed (or 0), and a table of
# the values of places
TRANSPOSED, NAMES_AT, BIT_RELATION_WIDTH = 2 * MATRIX_WIDTH, 4 * MATRIX_WIDTH, 4 * MATRIX_WIDTH + 1

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

# -- the values of a structured type: the codes of their parts, how many parts each value has or 0, where each
# begins if that differs, a hash table, and how much is in use
ITEMS_AT, ITEMS_CAP, ITEMS, ITEMS_EACH, TERM_STARTS_AT, TERM_STARTS_CAP = range(6)
TERMS, TERM_SLOTS_AT, TERM_SLOTS, TERMS_WIDTH = range(6, 10)

# -- the bytecode of a rule: a header
LEVELS, LEVEL, TARGET, MODE, RANK, HEAD, WIDTH, SOURCE = range(8)
INSTANCES, STEPS, OUT_AT, OUT_CAP, EMITTED, TUPLE, ORIGIN = range(8, 15)
PENDING, PENDING_FROM, PENDING_TO, SEARCHES, KNOWN_AT, KNOWN, HINTS, FAILURES = range(15, 23)
HASHED, HALVES, SHARES, COUNTS_AT, MOSTLY_NEW, JOINED, TWINS, HEADER = range(23, 31)
NOT_BEGUN = -2  # a value of LEVEL

# the hashes of keys of the second level, at HALVES: those of the last positions of the first level before
# HASHED, each at the remainder of its position; a power of two
MOST_HASHED = 16

# the rows that `joins` and `probes` work on, at JOINED: how many there are, and for each its position, its
# number, and half the hash of the key that it looks up or of the tuple that it tests; JOINED is 0 if the last
# two levels are of another kind
JOINED_ROW, JOINED_HALF, JOINED_WIDTH, MOST_JOINED = 1, 2, 3, 32

# where the values of the keys of these rows come from, at the BOUNDS of the second level: whether the first
# one accepts all rows; the column of the only value that is not the same for all of them, or -1; and for each
# value its column in the first level, or -1 if a slot has it
IS_PLAIN, VARYING, KEY_SOURCES = range(3)

# SEARCHES says what is done with heads: apply them, or, in a thread that only searches, emit those that
# change more than a count, or emit all, in a list for each of the SHARES of the hashes, with the lengths of
# these lists at COUNTS_AT; MOSTLY_NEW says whether most heads were new when threads last met
APPLY, EMIT_CHANGES, EMIT_ALL = range(3)

# heads that are not applied yet, each with half its hash, the highest rank of its instance, and the number of
# its instances; they are emitted in the same form
MOST_PENDING = 32
PENDING_HASH, PENDING_RANK, PENDING_TIMES, PENDING_MORE = range(4)

# a level for each atom, and one for the head
KIND, REL, MASK, INDEX, KEY_FROM, KEY_TO, COL_FROM, COL_TO = range(8)
FIL_FROM, FIL_TO, RANKED, AT, END, CURSOR, HIGHEST, BOUNDS = range(8, 16)
LIST, DELTA, SCAN, LOOKUP, RANGE, MEMBER, TEMP = range(7)  # its KIND

# a level over bit rows: a place of its current pair, the next word of its row, the bits of the word before
# that are left, and how many rows were searched for a bit; its KIND says which places are given, if any
PLACE, WORD, BITS, SCANNED, LEVEL_WIDTH = range(16, 21)
PLACES_LIST, PAIRS, ROW, COLUMN, PAIR, DIAGONAL, DIAGONAL_LIST = range(7, 14)
AGAIN = -(2**62)  # instead of a row: there may be more

# the twin of two levels: the words of both, and its HINTS
TWIN_HINTS, TWIN_WIDTH = 2 * LEVEL_WIDTH, 2 * LEVEL_WIDTH + 1

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
ABSENT_PAIR = 14  # like ABSENT, over bit rows

# a result: its slot, and the smallest and largest value of its type
RESULT_SLOT, RESULT_LOW, RESULT_HIGH = range(3)

# the bounds of a range: a column; the slots of the bounds, or 0; whether each is excluded
BOUNDS_COLUMN, LOW, IS_ABOVE_LOW, HIGH, IS_BELOW_HIGH, BOUNDS_WIDTH = range(6)

# modes: what is done with a derived head
INSERT, REMOVE, REDERIVE, EMIT, SETTLE, OVERDELETE, ADD, SUBTRACT, IMPROVE, REPLACE = range(10)

# the status that a kernel returns
DONE, GROW_TABLE, GROW_LIST, GROW_OUT, GROW_INDEX, GROW_TRACE, GROW_BEST = range(7)
WIDEN, PAUSE, UNKNOWN, FAILED, UNFIT, UNBUILT = range(7, 13)

# how to go on with a loop: from the first step; with the bytecode at POSITION where it stopped; or with the
# step at POSITION
BEGIN, RESUME, CONTINUE = range(3)

# -- a loop: its header, then its relations, then its steps, of which those from REPEATED on are repeated
LOOP_STEPS, LOOP_RELATIONS, REPEATED, POSITION, ROUNDS, LOOP_RANK, LOOP_MODE, FOUND, LOOP_HEADER = range(9)

# a step of a loop: the table of the rows that it starts from, or 0 to end a round; the word of that table for
# the list of these rows, whose length is in the next word, or 0 for the delta; its bytecode, or 0 if there is
# none yet; how many instances it found, how many steps it took, and how many rows it put on the worklist
STEP_TABLE, STEP_LIST, STEP_CODE, STEP_INSTANCES, STEP_STEPS, STEP_ROWS, STEP_WIDTH = range(7)

# -- a loop by partitions: its header, then its relation, its rules, and the number of instances of each rule;
# of a partition, its column or -1, where the seeds of the next one begin, where those of the last one end,
# the number of its rounds, and whether a rule is to be resumed
PARTS_RULES, PARTS_POSITION, PARTS_ROUNDS, PARTS_RANK = range(4)
PART_COLUMN, PART_FROM, SEEDS_TO, PART_ROUNDS, IS_MIDWAY, PARTS_HEADER = range(4, 10)

UNCOVERED = 64  # up to so many rows that an ordered index lacks are scanned
