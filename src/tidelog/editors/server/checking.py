"""Checking documents in the background, a moment after the last edit.

One thread checks, one document after the other. What it finds is used only if the document is still the same
when it is done; the server's own thread is never blocked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.editors.names.document import Document
from tidelog.editors.names.workspace import Workspace
from tidelog.errors import Diagnostic
from tidelog.program.draft import examined
from tidelog.program.model import Program

__all__ = ["Checked", "Checker"]

_DELAY: Final = 0.2  # seconds without an edit


@dataclass(frozen=True, slots=True)
class Checked:
    """`parsed` is a document with the same text, if that had to be parsed as a whole."""

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    parsed: Document | None


class Checker:
    """`report` is called with each document that was checked, in the server's thread."""

    def __init__(self, workspace: Workspace, report: Callable[[Document, Checked], None]) -> None:
        self.workspace = workspace
        self.report = report
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="tidelog-check")
        self._tasks: set[asyncio.Task[None]] = set()

    def schedule(self, changed: Document) -> None:
        """Check a document, and the open ones that import it."""
        for document in list(self.workspace.open.values()):
            if document is changed or any(d is changed for d in self.workspace.reached(document)):
                self._schedule(document)

    def schedule_all(self) -> None:
        for document in list(self.workspace.open.values()):
            self._schedule(document)

    def _schedule(self, document: Document) -> None:
        loop = asyncio.get_running_loop()
        known = self._waiting.pop(document.name, None)
        if known is not None:
            known.cancel()
        self._waiting[document.name] = loop.call_later(_DELAY, self._start, document)

    def _start(self, document: Document) -> None:
        self._waiting.pop(document.name, None)
        task = asyncio.get_running_loop().create_task(self._check(document))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _check(self, document: Document) -> None:
        text, texts = document.text, self.workspace.texts
        if not self._is_current(document, text):
            return
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, self._checked, document, text, texts)
        if self._is_current(document, text):
            if found.parsed is not None:
                document.adopt(found.parsed)
            self.report(document, found)

    def _is_current(self, document: Document, text: str) -> bool:
        return self.workspace.open.get(document.name) is document and document.text is text

    def _checked(self, document: Document, text: str, texts: dict[Path, str]) -> Checked:
        workspace = self.workspace
        program, found = examined(text, document.name, workspace.functions, workspace.search, texts)
        parsed = None if document.is_settled else Document(document.name, text, document.path)
        return Checked(program, found, parsed)

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
