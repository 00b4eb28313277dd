"""Tables of a spec: values are taken out one by one, and keys that remain are reported as unknown.

Reading continues after a problem. Problems are collected, each with its full key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tidelog.program.elaborate.problems import did_you_mean

__all__ = ["Table"]

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


class Table:
    def __init__(self, content: Mapping[str, Any], key: str, problems: list[str]) -> None:
        self._content = dict(content)
        self._known: list[str] = []
        self._key = key
        self._problems = problems

    def problem(self, key: str, text: str) -> None:
        self._problems.append(f"{self._full(key)}: {text}")

    def text(self, key: str, *, needed: str | None = None) -> str | None:
        """A string; `needed` is the remedy to report if it is missing."""
        value = self._take(key)
        if value is None and needed is not None:
            self.problem(key, f"is missing; {needed}")
        if value is not None and (not isinstance(value, str) or not value):
            self.problem(key, f"is {value!r}; write a string in quotes")
            return None
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        return self.choice_or_none(key, choices) or default

    def choice_or_none(self, key: str, choices: tuple[str, ...]) -> str | None:
        value = self.text(key)
        if value is not None and value not in choices:
            self.problem(key, f"is {value!r}; write one of {', '.join(choices)}")
            return None
        return value

    def count(self, key: str) -> int:
        """A whole number, not below 0; 0 if it is missing."""
        value = self._take(key)
        if value is not None and (type(value) is not int or value < 0):
            self.problem(key, f"is {value!r}; write a whole number, such as {key} = 30")
            return 0
        return value or 0

    def texts(self, key: str) -> tuple[str, ...]:
        """A string, or a list of strings."""
        value = self._take(key)
        listed = value if isinstance(value, list | tuple) else [] if value is None else [value]
        if not all(isinstance(v, str) and v for v in listed):
            self.problem(key, f"is {value!r}; write a string in quotes, or a list of strings")
            return ()
        return tuple(listed)

    def mapping(self, key: str, convert: Callable[[str, Any], str | None]) -> dict[str, str]:
        value = self._take(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.problem(key, f'is {value!r}; write a table, as in {key} = {{ name = "value" }}')
            return {}
        made = {k: convert(f"{key}.{k}", v) for k, v in value.items()}
        return {k: v for k, v in made.items() if v is not None}

    def values(self, key: str) -> dict[str, Any]:
        """A table whose values may be anything."""
        value = self._take(key)
        if value is not None and not isinstance(value, Mapping):
            self.problem(key, f"is {value!r}; write a table, as in {key} = {{ name = value }}")
            return {}
        return dict(value or {})

    def has_table(self, key: str) -> bool:
        return isinstance(self._content.get(key), Mapping)

    def tables(self, key: str) -> dict[str, Table]:
        value = self._take(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(v, Mapping) for v in value.values()):
            self.problem(
                key, f"is not a table of tables; write [{self._full(key)}.NAME], where NAME is a relation"
            )
            return {}
        return {k: Table(v, self._full(f"{key}.{k}"), self._problems) for k, v in value.items()}

    def frame(self, key: str) -> Any:
        """A DataFrame, or anything that gives its rows as an Arrow stream: only Python has these."""
        value = self._take(key)
        if value is None or hasattr(value, "sparkSession") or hasattr(value, "__arrow_c_stream__"):
            return value
        self.problem(key, f"is {value!r}; give a DataFrame or an Arrow table in Python, or write path = …")
        return None

    def table(self, key: str) -> Table | None:
        value = self._take(key)
        if value is not None and not isinstance(value, Mapping):
            self.problem(key, f"is {value!r}; write a table, [{self._full(key)}]")
            return None
        return None if value is None else Table(value, self._full(key), self._problems)

    def end(self) -> None:
        """Report the keys that remain as unknown."""
        for key in self._content:
            hint = did_you_mean(key, self._known) or f"the keys are {', '.join(self._known)}"
            self.problem(key, f"unknown key; {hint}")

    def setting(self, key: str, value: Any) -> str | None:
        """The value of a Spark option, with environment variables substituted."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            return str(value)
        if not isinstance(value, str):
            self.problem(key, f"is {value!r}; write a string, a number, true or false")
            return None
        unknown = sorted({n for n in _VARIABLE.findall(value) if n not in os.environ})
        if unknown:
            self.problem(key, f"environment variable not set: {', '.join(unknown)}; set it before the run")
        return _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), value)

    def word(self, key: str, value: Any) -> str | None:
        if not isinstance(value, str) or not value:
            self.problem(key, f"is {value!r}; write the column's name in the source, in quotes")
            return None
        return value

    def _take(self, key: str) -> Any:
        self._known.append(key)
        return self._content.pop(key, None)

    def _full(self, key: str) -> str:
        return f"{self._key}.{key}" if self._key else key
