"""Names of other languages, and what to write instead."""

from __future__ import annotations

from typing import Final

__all__ = ["function_hint", "type_hint", "value_hint", "variable_hint"]

_NAMES: Final = {
    "string": "varchar nvarchar char text str utf8 symbol istring",
    "int": "integer int64 i64 bigint64 long number i8 i16 i32 int8 int16 int32 int2 int4 short serial "
    "tinyint smallint mediumint bigserial",
    "double": "float64 f64 real number8",
    "float": "float32 f32",
    "bool": "boolean logical",
    "timestamp": "datetime timestamptz timestamp_ns datetime64",
    "duration": "interval timedelta",
    "bytes": "binary blob bytea varbinary",
    "decimal(18, 2)": "numeric money",
    "s128": "i128 int128",
    "u128": "uint128",
    "u8": "uint8 byte",
    "u16": "uint16",
    "u32": "unsigned uint32",
    "u64": "uint64",
    "vec<int>": "list array seq sequence",
    "set<int>": "hashset frozenset",
    "map<string, int>": "dict hashmap dictionary record object",
    "option<int>": "nullable maybe optional",
}
_INSTEAD: Final = {name: type_ for type_, names in _NAMES.items() for name in names.split()}
_DEFINED: Final = frozenset(["struct", "enum", "union", "tuple", "row", "any", "variant"])
_OTHERS: Final = {
    "json": "documents are values of type `string`; read them with `json_get`, or define a type",
    "jsonb": "documents are values of type `string`; read them with `json_get`, or define a type",
    "uuid": "write `string`; `is_uuid` tests for a UUID",
    "time": "write `duration` for a time since midnight, `timestamp` for a point in time",
}
_AS: Final = "convert with `as`: `x as string`, `x as int`"
_JOIN: Final = 'join strings with `a ++ b` or `"${a} ${b}"`, and vecs with `append(v, w)`'
_OR: Final = "write `unwrap_or(x, y)`"
_FUNCTIONS: Final = {
    "strlen": "write `length(s)`",
    "cat": _JOIN,
    "strcat": _JOIN,
    "substr": "write `substring(s, start, count)`; positions count from 0",
    **dict.fromkeys(["coalesce", "ifnull", "nvl"], _OR),
    **dict.fromkeys(["cast", "convert", "to_string", "str", "to_number", "tostring"], _AS),
    **dict.fromkeys(["isnull", "is_null"], "write `is_none(x)`"),
    **dict.fromkeys(["notnull", "is_not_null"], "write `is_some(x)`"),
}


def function_hint(name: str) -> str | None:
    """What to write instead of a function of another language."""
    return _FUNCTIONS.get(name.lower())


def value_hint(name: str) -> str | None:
    """What to write instead of a capitalised constant of another language."""
    if name.lower() in ("true", "false"):
        return f"write `{name.lower()}`"
    return variable_hint("null") if name.lower() in ("null", "none", "nil", "nothing") else None


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
    if name.lower() in _OTHERS:
        return _OTHERS[name.lower()]
    if name.lower() in _DEFINED:
        return (
            "define a type, as in `typedef Point = Point{x: int, y: int}`, or write a tuple, `(int, string)`"
        )
    return None
