"""Short names for IRIs outside of programs: `shown` for terms, and the prefixes of queries.

Programs declare prefixes themselves (`syntax.prefixes`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tidelog.data.short_names import WELL_KNOWN, ShortNames

__all__ = ["prefixes_in", "shown"]

_IN_QUERY: Final = re.compile(r"\bprefix\s+([\w-]*):\s*<([^<>\s]*)>", re.I)


def prefixes_in(query: str) -> dict[str, str]:
    """The prefixes that a query declares."""
    return dict(_IN_QUERY.findall(query))


def shown(term: str, prefixes: Mapping[str, str] | None = None) -> str:
    """A term for people: with the longest namespace that has a prefix, and numbers as they are."""
    return ShortNames({**WELL_KNOWN, **(prefixes or {})}).term(term)
