"""Translates our programs and facts for Soufflé; the languages share the part that is measured."""

from __future__ import annotations

import re
from pathlib import Path

from bench.data import Tables

__all__ = ["translate", "write_facts"]

_DECLARATION = re.compile(r"^\s*(input |output )?relation (\w+)\((.*)\)\s*$")
_TYPES = {"int": "number", "string": "symbol"}


def translate(text: str, result: str) -> str:
    """The program in Soufflé's syntax; it prints only the size of the result."""
    return "\n".join(line for given in text.splitlines() for line in _line(given, result))


def _line(line: str, result: str) -> list[str]:
    declared = _DECLARATION.match(line)
    if declared is None:
        return [re.sub(r"\bnot (?=[A-Z])", "!", line).replace(" == ", " = ")]
    role, name, columns = declared.groups()
    pairs = (column.split(": ") for column in columns.split(", "))
    listed = ", ".join(f"c_{column}: {_TYPES[type_]}" for column, type_ in pairs)
    lines = [f".decl {name}({listed})"]
    if role == "input ":
        lines.append(f".input {name}")
    if name == result:
        lines.append(f".printsize {name}")
    return lines


def write_facts(tables: Tables, folder: Path) -> None:
    """Write one file for each relation, tab-separated and without quotes, as Soufflé expects."""
    for name, table in tables.items():
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        (folder / f"{name}.facts").write_text(text, encoding="utf-8")
