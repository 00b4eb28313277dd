"""All texts that belong together: those that are open in the editor, and the files of its folders.

A text that is open replaces its file, also where another text imports it. Files are read again when they
change on disk. A document without a file, which was never saved, imports from the folders of the workspace.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tidelog.editors.names.document import Document
from tidelog.program.modules import imported
from tidelog.syntax import tree

__all__ = ["Workspace"]

_MOST_FILES: Final = 2000  # of the folders
_SKIPPED: Final = frozenset(["node_modules", "__pycache__"])
_EXTENSION: Final = ".dl"


class Workspace:
    """`folders` are those of the editor, `search` further ones in which modules are found.

    `functions` are those of Python that programs can call.
    """

    def __init__(
        self,
        folders: Iterable[Path] = (),
        search: Iterable[Path] = (),
        functions: Iterable[Callable[..., object]] = (),
    ) -> None:
        self.functions = tuple(functions)
        self.folders = [folder.resolve() for folder in folders]
        self.added = list(search)
        self.open: dict[str, Document] = {}  # by their names
        self._closed: dict[Path, tuple[tuple[int, int], Document]] = {}
        self._imports: dict[str, tuple[object, Mapping[str, Path]]] = {}

    @property
    def search(self) -> Sequence[Path]:
        return (*self.added, *self.folders)

    @property
    def texts(self) -> dict[Path, str]:
        """The texts of open files."""
        return {d.path: d.text for d in self.open.values() if d.path is not None}

    def put(self, name: str, text: str, path: Path | None, version: int = 0) -> Document:
        """Open a document."""
        resolved = None if path is None else path.resolve()
        document = Document(name if resolved is None else str(resolved), text, resolved, version)
        self.open[document.name] = document
        return document

    def close(self, document: Document) -> None:
        self.open.pop(document.name, None)

    def named(self, name: str) -> Document | None:
        """The document with a name."""
        return self.open.get(name) or self.at(Path(name))

    def at(self, path: Path) -> Document | None:
        """The document of a file, open or not."""
        key = path.resolve()
        found = self.open.get(str(key))
        return found if found is not None else self._file(key)

    def _file(self, path: Path) -> Document | None:
        try:
            status = path.stat()
            stamp = status.st_mtime_ns, status.st_size
            known = self._closed.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            document = Document(str(path), path.read_bytes().decode(), path)
        except (OSError, UnicodeDecodeError):
            return None
        self._closed[path] = stamp, document
        return document

    def imports(self, document: Document) -> Mapping[str, Path]:
        """The files that a document imports, by the names by which it calls them."""
        items = _header(document)
        # a file that is missing now may exist later
        key = tuple((i.path, getattr(i, "alias", None)) for i in items), len(self.open)
        known = self._imports.get(document.name)
        if known is None or known[0] != key or not all(p.exists() for p in known[1].values()):
            made = imported(items, document.source, self.search, self.texts)
            known = self._imports[document.name] = key, {n: p.resolve() for n, p in made.items()}
        return known[1]

    def module(self, document: Document, name: str) -> Document | None:
        """The document of a module, by the name by which another one calls it."""
        path = self.imports(document).get(name)
        return None if path is None else self.at(path)

    def reached(self, document: Document) -> list[Document]:
        """A document and all that it imports, directly or not."""
        found = {document.name: document}
        waiting = [document]
        for each in waiting:  # grows during the loop
            for path in dict.fromkeys(self.imports(each).values()):
                other = self.at(path)
                if other is not None and other.name not in found:
                    found[other.name] = other
                    waiting.append(other)
        return list(found.values())

    def everything(self) -> list[Document]:
        """All documents: open ones, those in the folders, and what they import."""
        found = {d.name: d for d in self.open.values()}
        for path in self._paths():
            document = self.at(path)
            if document is not None:
                found.setdefault(document.name, document)
        for document in list(found.values()):
            found |= {d.name: d for d in self.reached(document)}
        return list(found.values())

    def _paths(self) -> Iterator[Path]:
        """The program files in the folders, as many as are looked at."""
        count = 0
        for folder in self.folders:
            for place, inner, files in os.walk(folder):
                inner[:] = sorted(d for d in inner if d not in _SKIPPED and not d.startswith("."))
                for file in sorted(files):
                    if file.endswith(_EXTENSION):
                        count += 1
                        if count > _MOST_FILES:
                            return
                        yield (Path(place) / file).resolve()


def _header(document: Document) -> list[tree.Import | tree.Module]:
    """What a document imports, and the name of its module."""
    found: list[tree.Import | tree.Module] = []
    for block in document.blocks:
        if isinstance(block.item, tree.Prefix):
            continue
        if not isinstance(block.item, tree.Import | tree.Module):
            break
        found.append(block.item)
    return found
