"""Checking documents in the background, a moment after the last edit.

One thread checks, one document after the other, and only what an edit changed (`examining`). A check is given
up as soon as its document is another one; what is found is used only if the document is still the same. The
server's own thread is never blocked. The longer checks take, the longer it waits for further edits.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tidelog.editors.names.document import Block, Document
from tidelog.editors.names.workspace import Workspace
from tidelog.editors.server.examining import Examination
from tidelog.errors import Diagnostic, Source
from tidelog.program.draft import examined
from tidelog.program.model import Program

__all__ = ["Checked", "Checker"]

_DELAY: Final = 0.2  # seconds without an edit, at least
_LONGEST_DELAY: Final = 1.0
_SWITCH: Final = 0.001  # seconds until a request gets its turn from a thread that checks


class _Outdated(Exception):
    """The document has changed since the check began."""


@dataclass(frozen=True, slots=True)
class Checked:
    """`parsed` is a document with the same text, if that had to be parsed as a whole."""

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    parsed: Document | None


@dataclass(slots=True)
class _Version:
    """A document as it is when a check begins, for the thread that checks."""

    document: Document
    source: Source
    blocks: list[Block]
    history: _History
    is_whole: bool
    """Whether the blocks are those of the text, without syntax errors."""
    texts: dict[Path, str]


@dataclass(slots=True)
class _History:
    """What is known of earlier checks of a document. Only the thread that checks uses the examination."""

    examination: Examination
    version: _Version | None = None
    seconds: float = field(default=0.0)


class Checker:
    """`report` is called with each document that was checked, in the server's thread."""

    def __init__(self, workspace: Workspace, report: Callable[[Document, Checked], None]) -> None:
        self.workspace = workspace
        self.report = report
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._histories: dict[str, _History] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="tidelog-check")
        self._tasks: set[asyncio.Task[None]] = set()
        sys.setswitchinterval(_SWITCH)

    def schedule(self, changed: Document) -> None:
        """Check a document, and the open ones that import it."""
        for document in list(self.workspace.open.values()):
            if document is changed or any(d is changed for d in self.workspace.reached(document)):
                self._schedule(document)

    def schedule_all(self) -> None:
        for document in list(self.workspace.open.values()):
            self._schedule(document)

    def forget(self, document: Document) -> None:
        """Drop what is known of a document that was closed."""
        self._histories.pop(document.name, None)

    def _schedule(self, document: Document) -> None:
        loop = asyncio.get_running_loop()
        known = self._waiting.pop(document.name, None)
        if known is not None:
            known.cancel()
        delay = min(max(_DELAY, self._history(document).seconds / 2), _LONGEST_DELAY)
        self._waiting[document.name] = loop.call_later(delay, self._start, document)

    def _start(self, document: Document) -> None:
        self._waiting.pop(document.name, None)
        task = asyncio.get_running_loop().create_task(self._check(document))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _check(self, document: Document) -> None:
        is_whole = document.is_settled and not document.has_errors
        history, blocks = self._history(document), list(document.blocks)
        version = _Version(document, document.source, blocks, history, is_whole, self.workspace.texts)
        if not self._is_current(version):
            return
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._pool, self._checked, version)
        except _Outdated:
            return
        if self._is_current(version):
            if found.parsed is not None:
                document.adopt(found.parsed)
            self.report(document, found)

    def _is_current(self, version: _Version) -> bool:
        document = version.document
        return self.workspace.open.get(document.name) is document and document.text is version.source.text

    def _history(self, document: Document) -> _History:
        known = self._histories.get(document.name)
        if known is None:
            known = self._histories[document.name] = _History(
                Examination(self.workspace.functions, lambda: self._proceed(document.name))
            )
        return known

    def _proceed(self, name: str) -> None:
        """Give up the check of a document that has changed."""
        history = self._histories.get(name)
        version = None if history is None else history.version
        if version is None or not self._is_current(version):
            raise _Outdated

    # -- in the thread that checks

    def _checked(self, version: _Version) -> Checked:
        start = time.perf_counter()
        document, history = version.document, version.history
        history.version = version
        self._proceed(document.name)
        parsed: Document | None = None
        unread: tuple[Diagnostic, ...] = ()
        blocks = version.blocks
        if not version.is_whole:
            parsed = Document(document.name, version.source.text, document.path, known=blocks)
            blocks, unread = parsed.blocks, tuple(parsed.problems)
            self._proceed(document.name)
        found = history.examination.examine(blocks, version.source, unread)
        if found is None:
            workspace = self.workspace
            text, name = version.source.text, document.name
            found = examined(text, name, workspace.functions, workspace.search, version.texts)
        history.seconds = time.perf_counter() - start
        return Checked(*found, parsed)

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
