"""Modules: from a text with imports to one list of items with full names.

A file is a module: `import a::b` reads `a/b.dl`. Every name that a module declares is qualified with the name
of the module, and every use is resolved, so later passes see full names only. The text that imports is not
qualified itself. Spans stay, so diagnostics point into the file that has the problem.

A name is looked up among the declarations of its own module, then among its imports (by alias, by the last
component of a module's name, or by the whole name). `std::` names the standard library, `std::text` a part
of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tidelog.errors import Diagnostic, SessionError, Source, shown
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.program.library.catalog import STANDARD_MODULES
from tidelog.program.renaming import Declared, Renaming, declared_names, renamed
from tidelog.syntax import tree
from tidelog.syntax.parser import read
from tidelog.syntax.printer import print_program

__all__ = ["VARIABLE", "Texts", "bundled", "files_looked_at", "folders", "imported", "is_modular", "resolve"]

VARIABLE = "TIDELOG_PATH"  # folders that are searched last

Texts = Mapping[Path, str]  # what is read instead of files, by their resolved paths
_NO_TEXTS: Final[Texts] = MappingProxyType({})


@dataclass(slots=True)
class _Module:
    """`base` is the folder that the path of its name starts in; it is None for a text without a file."""

    name: str
    source: Source
    items: tuple[tree.Item, ...]
    file: Path | None
    base: Path | None
    imports: dict[str, str] = field(default_factory=dict)  # full names of modules

    @property
    def title(self) -> str:
        return f"`{self.name}`" if self.name else self.source.name

    @property
    def package(self) -> str:
        """What the full names of modules in the same folder begin with."""
        return self.name[: self.name.rfind("::") + 2] if "::" in self.name else ""


def is_modular(program: tree.Program) -> bool:
    """Whether a program has a header: imports, or the name of its module."""
    return any(isinstance(item, tree.Import | tree.Module) for item in program.items)


def resolve(
    program: tree.Program, source: Source, search: Sequence[Path], texts: Texts = _NO_TEXTS
) -> tuple[tree.Program, list[Diagnostic]]:
    """The items of a text and of all modules that it needs, with full names; and what is wrong with them."""
    if not is_modular(program) and "std::" not in source.text:
        return program, []
    loader = _Loader(search, texts)
    root = loader.root(source, program.items)
    loader.load(root)
    outside = declared_names(root.items)
    items = [item for module in loader.finished for item in _qualified(module, outside)]
    return tree.Program(tuple(items), program.comments), loader.problems


def files_looked_at(text: str, name: str, search: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The files of all modules that a text needs, and those that do not exist but would be read."""
    source = Source(name, text)
    file = Path(name)
    loader = _Loader(search)
    loader.load(_Module("", source, read(source)[0].items, file, file.parent))
    return tuple(loader.looked_at)


def imported(
    items: Iterable[tree.Item], source: Source, search: Sequence[Path], texts: Texts = _NO_TEXTS
) -> dict[str, Path]:
    """The files that a text imports, by the names by which it can call them. What is missing is left out."""
    loader = _Loader(search, texts)
    root = loader.root(source, tuple(items))
    found: dict[str, Path] = {}
    for item in root.items:
        if isinstance(item, tree.Import) and item.path.partition("::")[0] != "std":
            place = loader.find(item, root)
            if place is not None:
                loader.name(item, place[2], root)
                found |= {name: place[0] for name, full in root.imports.items() if full == place[2]}
    return found


def bundled(text: str, name: str, search: Sequence[Path] = ()) -> str:
    """A text that means the same and imports nothing. An invalid text stays as it is."""
    source = Source(name, text)
    program, problems = read(source)
    if problems or not is_modular(program):
        return text
    whole, missing = resolve(program, source, search)
    if missing:
        return text
    last = {item.name: item for item in whole.items if isinstance(item, tree.Prefix)}
    items = (i for i in whole.items if not isinstance(i, tree.Prefix) or last[i.name] is i)
    return print_program(tree.Program(tuple(items)))


def folders(given: object) -> tuple[Path, ...]:
    """The folders of a search path; SessionError if it is something else."""
    paths = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else None
    if paths is None or not all(isinstance(p, str | os.PathLike) for p in paths):
        raise SessionError(f"`search` is {shown(given)}; give a list of folders")
    return tuple(map(Path, paths))


def _qualified(module: _Module, outside: Declared) -> Iterator[tree.Item]:
    prefix = f"{module.name}::" if module.name else ""
    renaming = Renaming(prefix, declared_names(module.items), module.imports, outside)
    for item in module.items:
        if not isinstance(item, tree.Import | tree.Module):
            yield renamed(item, renaming)


class _Loader:
    def __init__(self, search: Sequence[Path], texts: Texts = _NO_TEXTS) -> None:
        self.texts = texts
        given = [Path(p) for p in os.environ.get(VARIABLE, "").split(os.pathsep) if p]
        self.search = [*search, *given]
        self.problems: list[Diagnostic] = []
        self.looked_at: dict[Path, None] = {}
        self.finished: list[_Module] = []  # each after those it imports
        self._by_file: dict[Path, _Module] = {}
        self._open: list[_Module] = []  # from the text to the module that is being loaded

    def root(self, source: Source, items: tuple[tree.Item, ...]) -> _Module:
        """The text that imports others."""
        file = Path(source.name)
        found = file if self._is_file(file) else None
        return _Module("", source, items, found, None if found is None else found.parent)

    def load(self, module: _Module) -> None:
        if module.file is not None:
            self._by_file[module.file.resolve()] = module
        self._open.append(module)
        for item in module.items:
            match item:
                case tree.Module():
                    self._expect_name(item, module)
                case tree.Import():
                    self._import(item, module)
                case tree.Prefix():
                    continue
                case _:
                    break
        self._open.pop()
        self.finished.append(module)

    def _import(self, item: tree.Import, importer: _Module) -> None:
        if item.path.partition("::")[0] == "std":
            self._import_standard(item, importer)
            return
        place = self.find(item, importer)
        if place is None:
            return
        file, base, name = place
        module = self._by_file.get(file.resolve())
        if module is None:
            module = self._read(item, file, base, name)
            if module is None:
                return
            self.load(module)
        elif module in self._open:
            self._report_cycle(item, module)
            return
        self.name(item, module.name, importer)

    def _import_standard(self, item: tree.Import, importer: _Module) -> None:
        _, _, name = item.path.partition("::")
        if not name or name in STANDARD_MODULES:
            self.name(item, item.path, importer)
            return
        known = [f"std::{module}" for module in STANDARD_MODULES]
        hint = did_you_mean(item.path, known) or f"the standard modules are {', '.join(known)}"
        message = f"no module `{item.path}`"
        self.problems.append(Diagnostic("E122", item.name_span, message, hint=hint))

    def find(self, item: tree.Import, importer: _Module) -> tuple[Path, Path, str] | None:
        """The file of a module, the folder that its name starts in, and its full name."""
        path = Path(*item.path.split("::")).with_suffix(".dl")
        own = None if importer.file is None else importer.file.parent
        folders: dict[Path, None] = {}
        if own is not None and importer.base is not None:
            self.looked_at[own / path] = None
            if self._is_file(own / path):
                return own / path, importer.base, importer.package + item.path
            folders = {own: None, importer.base: None}
        folders |= dict.fromkeys(self.search)
        for folder in folders:
            self.looked_at[folder / path] = None
            if self._is_file(folder / path):
                return folder / path, folder, item.path
        searched = ", ".join(map(str, folders))
        note = f"searched in {searched}" if searched else "there is no folder to search in"
        hint = f"give the folder that has {path} with `-L`, `search=[…]` or {VARIABLE}"
        message = f"no module `{item.path}`: {path} was not found"
        self.problems.append(Diagnostic("E122", item.name_span, message, note=note, hint=hint))
        return None

    def _text(self, file: Path) -> str:
        text = self.texts.get(file.resolve()) if self.texts else None
        return file.read_bytes().decode() if text is None else text

    def _is_file(self, path: Path) -> bool:
        return _is_file(path) or bool(self.texts and path.resolve() in self.texts)

    def _read(self, item: tree.Import, file: Path, base: Path, name: str) -> _Module | None:
        try:
            source = Source(str(file), self._text(file))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            message = f"the module `{item.path}` cannot be read"
            self.problems.append(Diagnostic("E122", item.name_span, message, note=f"{file}: {reason}"))
            return None
        program, problems = read(source)
        self.problems += problems
        return _Module(name, source, program.items, file, base)

    def name(self, item: tree.Import, name: str, importer: _Module) -> None:
        """Add the names by which the module of this name can be called after an import."""
        short = item.alias or item.path.rpartition("::")[2]
        other = importer.imports.get(short)
        if other is not None and other != name:
            message = f"`{short}` is already the name of the module `{other}`"
            hint = f"write `import {item.path} as …`"
            self.problems.append(Diagnostic("E112", item.span, message, hint=hint))
            return
        importer.imports[short] = name
        importer.imports.setdefault(item.path, name)
        importer.imports.setdefault(name, name)

    def _report_cycle(self, item: tree.Import, module: _Module) -> None:
        cycle = [*self._open[self._open.index(module) :], module]
        note = " imports ".join(m.title for m in cycle)
        self.problems.append(Diagnostic("E123", item.span, "modules import each other", note=note))

    def _expect_name(self, item: tree.Module, module: _Module) -> None:
        """Report a name that is not the path of the file."""
        if module.file is None:
            return
        given = item.path.split("::")
        path = module.name.split("::") if module.name else _components(module.file, len(given))
        if given != path:
            name = "::".join(path)
            message = f"this file is the module `{name}`, not `{item.path}`"
            self.problems.append(Diagnostic("E124", item.span, message, hint=f"write `module {name}`"))


def _components(file: Path, count: int) -> list[str]:
    """The last components of a file's path, without the extension."""
    return list(file.resolve().with_suffix("").parts[-count:])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # the name is not one that a file can have
        return False
