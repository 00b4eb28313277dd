"""Small JSON files with a checksum, so that damage is always detected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["Damaged", "sealed", "unsealed"]


class Damaged(Exception):
    """The content does not match its checksum."""


def sealed(content: Mapping[str, Any]) -> bytes:
    whole = {**content, "checksum": _checksum(content)}
    return (json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def unsealed(text: bytes) -> dict[str, Any]:
    """The sealed content. Raises Damaged."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged from None
    if not isinstance(content, dict) or content.pop("checksum", None) != _checksum(content):
        raise Damaged
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
