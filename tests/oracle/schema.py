"""The relations that random programs are about, and random values for their columns."""

from __future__ import annotations

from random import Random
from typing import Final

from tidelog.data.values import NAN, Row, Value

INT: Final = "int"
TEXT: Final = "string"
REAL: Final = "double"
MAYBE: Final = "option<int>"
MAYBE_TEXT: Final = "option<string>"

INPUTS: Final = {"E": (INT, INT), "F": (INT,), "G": (INT, MAYBE), "T": (INT, INT, INT)}
DERIVED: Final = {"P": (INT, INT), "Q": (INT, INT), "R": (INT,), "S": (INT,), "Z": (), "U": (INT, INT, INT)}
TYPED_INPUTS: Final = {
    "N": (INT, TEXT),
    "W": (TEXT, TEXT),
    "M": (INT, REAL),
    "O": (TEXT, MAYBE_TEXT),
}
TYPED: Final = {
    "A": (INT, TEXT),
    "B": (TEXT, TEXT),
    "C": (REAL, INT),
    "H": (MAYBE, INT),
    "I": (MAYBE_TEXT, TEXT),
}
BEST: Final = {"D": (INT, INT, INT), "K": (INT,), "L": (TEXT, TEXT)}
COLUMNS: Final = {**INPUTS, **DERIVED, **TYPED_INPUTS, **TYPED, **BEST}

# text that is a prefix of other text, in another case, beyond Latin; numbers on both sides of zero, and NaN
TEXTS: Final = ("a", "", "B", "\U0001f600", "ab", "ß")
REALS: Final = (0.5, NAN, 0.0, -1.5, float("inf"))
# the ends of the range, where a code could be taken for that of none and a sum overflows
ENDS: Final = (-(2**63), 2**63 - 1)


def declarations() -> str:
    """All relations; those that a program does not use stay empty."""
    lines = []
    for name, types in COLUMNS.items():
        role = "input " if name in INPUTS or name in TYPED_INPUTS else ""
        columns = ", ".join(f"c{i}: {type_}" for i, type_ in enumerate(types))
        lines.append(f"{role}relation {name}({columns})")
    return "\n".join(lines)


class Values:
    """Draws values from a domain with so many numbers."""

    def __init__(self, random: Random, size: int, ends: bool) -> None:
        self.random = random
        self.size = size
        self.ends = ends

    def number(self) -> int:
        return self.random.randrange(self.size)

    def row(self, relation: str) -> Row:
        return tuple(self.value(type_) for type_ in COLUMNS[relation])

    def value(self, type_: str) -> Value:
        match type_:
            case "int":
                if self.ends and self.random.random() < 0.1:
                    return self.random.choice(ENDS)
                return self.number()
            case "string":
                return self.random.choice(TEXTS[: self.size])
            case "double":
                return self.random.choice(REALS[: max(self.size, 3)])
            case "option<int>":
                return self.random.choice([None, self.number()])
            case _:
                return self.random.choice([None, self.random.choice(TEXTS[: self.size])])

    def constant(self, type_: str) -> str | None:
        """A value as a rule writes it; None for a type of which no rule has constants."""
        match type_:
            case "int":
                return str(self.number())
            case "string":
                return f'"{self.random.choice(TEXTS[: self.size])}"'
            case "double":
                return self.random.choice(["-0.0", "0.5", "-1.5"])
            case _:
                return None
