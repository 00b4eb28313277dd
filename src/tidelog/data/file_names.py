"""Names of relations as names of files.

The `::` of a namespace becomes a dot. Characters that are special in paths, which only quoted
names have, are written as `%2F`, so different relations have different files and no name leaves its folder.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["file_name"]

_SPECIAL: Final = re.compile(r"[\x00-\x1f\x7f%./\\:*?\"<>|]|^ | $")


def file_name(relation: str) -> str:
    return ".".join(_SPECIAL.sub(_escaped, part) or "%" for part in relation.split("::"))


def _escaped(char: re.Match[str]) -> str:
    return f"%{ord(char[0]):02X}"
