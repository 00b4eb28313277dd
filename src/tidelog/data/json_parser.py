"""JSON as Python values, without loss: integers of any size, and fractions as the text that was written.

Python's own parser is fast but recursive. A text that nests too deeply for it is parsed here with a stack.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from tidelog.data.scalars import read_integer

__all__ = ["Fraction", "parse"]


class Fraction(str):
    """The text of a number with a fraction or an exponent."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {json.dumps(twice)} occurs twice in an object")
    return found


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a value of JSON; write it as a string")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=Fraction, parse_int=read_integer, parse_constant=_refused
)


def parse(text: str) -> Any:
    """The value of a JSON text. Raises ValueError."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        return _parse_deep(text)


# -- with a stack

_BLANK: Final = re.compile(r"[ \t\n\r]*+")


def _parse_deep(text: str) -> Any:
    """As `parse`. Each open list or object is a list of what it holds; an object's keys are in it, too."""
    open_: list[tuple[str, list[Any]]] = [("", [])]
    place = _skip(text, 0)
    while place < len(text):
        char = text[place]
        closing, held = open_[-1]
        if char in "[{":
            _expect_room(open_[-1], place)
            open_.append(("]" if char == "[" else "}", []))
            place += 1
        elif closing and char == closing:
            _expect_end(closing, held, place)
            open_.pop()
            open_[-1][1].append(
                held[::2] if closing == "]" else _object(list(zip(held[::4], held[2::4], strict=True)))
            )
            place += 1
        elif char in ",:":
            _expect_separator(open_[-1], char, place)
            held.append(char)
            place += 1
        else:
            _expect_room(open_[-1], place)
            value, place = _DECODER.raw_decode(text, place)
            if closing == "}" and len(held) % 4 == 0 and not isinstance(value, str):
                raise ValueError(f"expected a key at character {place}")
            held.append(value)
        place = _skip(text, place)
    if len(open_) > 1 or not open_[0][1]:
        raise ValueError("the text ends early")
    return open_[0][1][0]


def _skip(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place


def _expect_room(top: tuple[str, list[Any]], place: int) -> None:
    """A value may follow at the beginning and after a separator; an object begins each entry with a key."""
    closing, held = top
    if len(held) % 2 if closing else held:
        raise ValueError(f"unexpected value at character {place + 1}")


def _expect_separator(top: tuple[str, list[Any]], char: str, place: int) -> None:
    closing, held = top
    wanted = (
        "" if len(held) % 2 == 0 or not closing else ":" if closing == "}" and len(held) % 4 == 1 else ","
    )
    if char != wanted:
        raise ValueError(f"unexpected {char!r} at character {place + 1}")


def _expect_end(closing: str, held: list[Any], place: int) -> None:
    complete = len(held) % 2 == 1 if closing == "]" else len(held) % 4 == 3
    if held and not complete:
        raise ValueError(f"unexpected {closing!r} at character {place + 1}")
