"""Metrics of runs as lines of JSON: one for each run, each batch of a stream, and each failure.

A line is appended with one write, so several threads, and programs that follow the file, see whole lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidelog.pipeline.report import Outcome

__all__ = ["MetricsFile"]


class MetricsFile:
    """An observer that appends to a file; `about` is in every line."""

    def __init__(self, file: Path, about: Mapping[str, str]) -> None:
        self._file = file
        self._about = about
        self._began = datetime.now(UTC)

    def began(self) -> None:
        self._began = datetime.now(UTC)

    def ended(self, outcome: Outcome) -> None:
        self.append(outcome.to_dict())

    def failed(self, error: BaseException) -> None:
        said = f"{type(error).__name__}: {error}"
        self.append({"event": "failed", "time": self._began.isoformat(), "error": said})

    def append(self, line: Mapping[str, Any]) -> None:
        text = json.dumps({**line, **self._about}, ensure_ascii=False)
        file = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, f"{text}\n".encode())
        finally:
            os.close(file)
