"""Translates our programs and facts for Soufflé and FlowLog, which read the same files and declarations.

The languages share the part that is measured, except for recursive minima: `Program.dialects` has the rules
that each of them writes differently.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bench.data import Tables
from bench.programs import Program

__all__ = ["has_strings", "translate", "write_facts"]

_DECLARATION = re.compile(r"^\s*(input |output )?relation (\w+)\((.*)\)\s*$")
_TYPES = {"int": "number", "string": "symbol"}


def translate(program: Program, dialect: str) -> str:
    """The program in the syntax of `dialect`; it prints only the size of the result."""
    given = [line for line in program.text.splitlines() if line.strip()]
    declared = [line for text in given for line in _declaration(text, program.result)]
    rules = [_rule(line) for line in given if _DECLARATION.match(line) is None]
    lines = [*declared, *program.dialects.get(dialect, "\n".join(rules)).splitlines()]
    if dialect == "souffle" and program.souffle_order is not None:
        lines.insert(0, f'.pragma "RamSIPS" "{program.souffle_order}"')
    return "\n".join(lines) + "\n"


def has_strings(program: Program) -> bool:
    return any(": string" in line for line in program.text.splitlines() if _DECLARATION.match(line))


def _declaration(line: str, result: str) -> list[str]:
    declared = _DECLARATION.match(line)
    if declared is None:
        return []
    role, name, columns = declared.groups()
    pairs = (column.split(": ") for column in columns.split(", "))
    listed = ", ".join(f"c_{column}: {_TYPES[type_]}" for column, type_ in pairs)
    lines = [f".decl {name}({listed})"]
    if role == "input ":
        lines.append(f".input {name}")
    if name == result:
        lines.append(f".printsize {name}")
    return lines


def _rule(line: str) -> str:
    return re.sub(r"\bnot (?=[A-Z])", "!", line).replace(" == ", " = ")


def write_facts(program: Program, tables: Tables, folder: Path) -> None:
    """Write one file for each input relation, tab-separated and without quotes, as both expect."""
    for line in program.text.splitlines():
        declared = _DECLARATION.match(line)
        if declared is not None and declared[1] == "input ":
            name = declared[2]
            text = _separated(tables[name]) if name in tables else ""
            (folder / f"{name}.facts").write_text(text, encoding="utf-8")


def _separated(table: Any) -> str:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)
