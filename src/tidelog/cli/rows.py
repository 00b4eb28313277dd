"""Rows on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tidelog.formats.files import encode_facts

if TYPE_CHECKING:
    from tidelog.session import Facts

__all__ = ["print_rows"]


def print_rows(rows: Facts, form: str) -> None:
    """Write rows in a text format, in parts."""
    out = sys.stdout.buffer
    for part in encode_facts(rows.to_arrow(), form, rows.relation):
        out.write(part)
    out.flush()
