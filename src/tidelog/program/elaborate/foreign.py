"""Names of other languages, and what to write instead."""

from __future__ import annotations

from typing import Final

__all__ = ["type_hint", "variable_hint"]

_NAMES: Final = {
    "string": "varchar nvarchar char text str utf8 symbol istring",
    "int": "integer int64 i64 bigint64 long number i8 i16 i32 int8 int16 int32 short serial",
    "double": "float64 f64 real number8",
    "float": "float32 f32",
    "bool": "boolean logical",
    "timestamp": "datetime timestamptz timestamp_ns datetime64",
    "duration": "interval timedelta",
    "bytes": "binary blob bytea varbinary",
    "decimal(18, 2)": "numeric money",
    "u32": "unsigned uint32",
    "u64": "uint64",
    "vec<int>": "list array seq sequence",
    "set<int>": "hashset frozenset",
    "map<string, int>": "dict hashmap dictionary record object",
    "option<int>": "nullable maybe optional",
}
_INSTEAD: Final = {name: type_ for type_, names in _NAMES.items() for name in names.split()}
_DEFINED: Final = frozenset(["struct", "enum", "union", "tuple", "row", "any", "json", "variant"])


def variable_hint(name: str) -> str | None:
    """What to write instead of a constant of another language."""
    if name in ("null", "nil", "nothing"):
        return "a missing value is `none`; test for it with `is_none(x)` and `is_some(x)`"
    return None


def type_hint(name: str) -> str | None:
    """What to write instead of a type of another language."""
    known = _INSTEAD.get(name.lower())
    if known is not None:
        return f"write `{known}`" if known.isidentifier() else f"write `{known}`, for example"
    if name.lower() in _DEFINED:
        return (
            "define a type, as in `typedef Point = Point{x: int, y: int}`, or write a tuple, `(int, string)`"
        )
    return None
