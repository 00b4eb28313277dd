"""Standard functions that read JSON texts as data.

A *path* is a sequence of names and positions, `order.lines[0].price`, after an optional `$`. A name is any
text without blanks and the characters `.[]"`; other names are written as strings of JSON in brackets,
`["unit price"]`. The empty path is the whole text. In JSON, an object has no name twice.
"""

from __future__ import annotations

from typing import Final

from tidelog.program.library.signatures import StandardFunction, function

__all__ = ["JSON"]

_JSON = (
    function(
        "is_json(s: string) -> bool",
        "Whether `s` is a JSON text.",
        {
            r'is_json("{\"a\": [1, null]}")': "true",
            r'is_json("{a: 1}")': "false",
            r'is_json("")': "false",
        },
    ),
    function(
        "json_get(s: string, path: string) -> option<string>",
        "The value at `path`, as compact JSON; `none` if there is none. Numbers are as written.",
        {
            r'json_get("{\"a\": {\"b\": [1.50, {\"c\": true}]}}", "a.b[1]")': r'some("{\"c\":true}")',
            r'json_get("{\"a\": {\"b\": [1.50, {\"c\": true}]}}", "$.a.b[0]")': 'some("1.50")',
            r'json_get("{\"unit price\": null}", "[\"unit price\"]")': 'some("null")',
            r'json_get("[1, 2]", "[2]")': "none",
            r'json_get("{}", "a..b")': None,
            r'json_get("{", "a")': None,
        },
    ),
    function(
        "json_type(s: string, path: string) -> option<string>",
        'The kind of the value at `path`: `"object"`, `"array"`, `"string"`, `"number"`, `"bool"` or '
        '`"null"`; `none` if there is no value.',
        {
            r'json_type("{\"a\": [1]}", "a")': 'some("array")',
            r'json_type("{\"a\": [1]}", "a[0]")': 'some("number")',
            r'json_type("{\"a\": [1]}", "b")': "none",
        },
    ),
    function(
        "json_string(s: string, path: string) -> option<string>",
        "The string at `path`; `none` if there is no value or `null`. Fails for any other value.",
        {
            r'json_string("{\"a\": [\"x\\n\"]}", "a[0]")': r'some("x\n")',
            r'json_string("{\"a\": null}", "a")': "none",
            r'json_string("{\"a\": 1}", "a")': None,
        },
    ),
    function(
        "json_int(s: string, path: string) -> option<int>",
        "The integer at `path`; `none` if there is no value or `null`. Fails for any other value, and for a "
        "number that has a fraction or exponent or does not fit.",
        {
            r'json_int("{\"a\": [7]}", "a[0]")': "some(7)",
            r'json_int("7", "")': "some(7)",
            r'json_int("{}", "a")': "none",
            r'json_int("7.0", "")': None,
            r'json_int("\"7\"", "")': None,
        },
    ),
    function(
        "json_double(s: string, path: string) -> option<double>",
        "The number at `path`; `none` if there is no value or `null`. Fails for any other value, and for a "
        "number that does not fit.",
        {
            r'json_double("{\"a\": 1.5e3}", "a")': "some(1500.0)",
            r'json_double("[7]", "[0]")': "some(7.0)",
            r'json_double("1e999", "")': None,
        },
    ),
    function(
        "json_bool(s: string, path: string) -> option<bool>",
        "The truth value at `path`; `none` if there is no value or `null`. Fails for any other value.",
        {
            r'json_bool("{\"a\": true}", "a")': "some(true)",
            r'json_bool("[null]", "[0]")': "none",
            r'json_bool("0", "")': None,
        },
    ),
    function(
        "json_items(s: string, path: string) -> vec<string>",
        "The items of the array at `path`, as compact JSON; none if there is no value or `null`. Fails for "
        "any other value.",
        {
            r'json_items("{\"a\": [1, {\"b\": 2}]}", "a")': r'["1", "{\"b\":2}"]',
            r'json_items("{}", "a")': "[] as vec<string>",
            r'json_items("{\"a\": 1}", "a")': None,
        },
    ),
    function(
        "json_entries(s: string, path: string) -> map<string, string>",
        "The values of the object at `path` by their names, as compact JSON; none if there is no value or "
        "`null`. Fails for any other value.",
        {
            r'json_entries("{\"a\": {\"b\": 1, \"c\": \"x\"}}", "a")': r'["b" -> "1", "c" -> "\"x\""]',
            r'json_entries("{\"a\": {\"b\": 1}}", "a.b")': None,
        },
    ),
)

JSON: Final[dict[str, tuple[StandardFunction, ...]]] = {"JSON": _JSON}
