"""A disk of a machine that stops at a given step, and forgets what it had not been told to keep.

What was written but not synced may be there in part; a rename whose folder was not synced may not have
happened. Both are tried in their worst form.
"""

from __future__ import annotations

from pathlib import Path

from tidelog.store.disk import Disk


class Stopped(BaseException):
    """The machine is off."""


class Stopping(Disk):
    """Stops at the step of this number, counted from 0; never, if there are fewer. `steps` counts them."""

    def __init__(self, at: int | None = None, *, forgetful: bool = True) -> None:
        self.steps = 0
        self._at = at
        self._forgetful = forgetful
        self._unsynced: Path | None = None
        self._renamed: tuple[Path, bytes | None] | None = None

    def step(self, what: str, path: Path) -> None:
        if self.steps == self._at:
            if self._forgetful:
                self._forget()
            raise Stopped
        self.steps += 1
        if what == "open":
            self._unsynced = path
        elif what in ("replace", "link"):  # after the file was synced
            self._unsynced = None
            self._renamed = (path, path.read_bytes() if path.exists() else None)
        elif what == "created":
            self._renamed = None

    def _forget(self) -> None:
        if self._unsynced is not None and self._unsynced.exists():
            content = self._unsynced.read_bytes()
            self._unsynced.write_bytes(content[: len(content) // 2])
        if self._renamed is not None:
            file, before = self._renamed
            file.unlink(missing_ok=True)
            if before is not None:
                file.write_bytes(before)
