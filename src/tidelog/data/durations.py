"""Durations as text: `5400s` is the unique text; `90 minutes` and `1 hour 30 minutes` are read as well."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

__all__ = ["UNITS", "duration_text", "read_duration"]

# The units of time, in microseconds. There are no months: they have no fixed length.
UNITS: Final = {
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("min", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
    **dict.fromkeys(("w", "week", "weeks"), 604_800_000_000),
}
_MOST_DIGITS: Final = 40
_PART: Final = re.compile(
    rf"\s*(?P<sign>[+-]?)(?P<whole>[0-9]{{1,{_MOST_DIGITS}}})(?:\.(?P<rest>[0-9]{{1,{_MOST_DIGITS}}}))?\s*"
    r"(?P<unit>[a-z]+)(?:\s+|$|(?=[+\-0-9]))"
)


def duration_text(value: timedelta) -> str:
    """Seconds, with the digits after the point that are needed."""
    micros = value // timedelta(microseconds=1)
    whole, rest = divmod(abs(micros), 1_000_000)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}{whole}{fraction}s"


def read_duration(text: str) -> timedelta:
    """The sum of numbers with units. Raises ValueError or OverflowError."""
    total = place = 0
    while place < len(text) or not place:
        part = _PART.match(text, place)
        if part is None or part["unit"] not in UNITS:
            raise ValueError(text)
        total += _microseconds(part)
        place = part.end()
    return timedelta(microseconds=total)


def _microseconds(part: re.Match[str]) -> int:
    fraction: str = part["rest"] or ""
    micros, finer = divmod(int(part["whole"] + fraction) * UNITS[part["unit"]], 10 ** len(fraction))
    if finer:
        raise ValueError("finer than a microsecond")
    return int(-micros if part["sign"] == "-" else micros)
