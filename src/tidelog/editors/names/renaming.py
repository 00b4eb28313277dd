"""Renaming what a name denotes, in all texts.

A name is not changed if that could change what the program means: if the new name is taken, if a text with
syntax errors may hide a use, or if the program would have an error that it does not have now. `Refused` says
why. Files of facts, pipelines and Python code name relations and columns too; they are not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from tidelog.editors.names.document import Document, Place
from tidelog.editors.names.occurrences import Role
from tidelog.editors.names.symbols import Symbol, references
from tidelog.editors.names.workspace import Workspace
from tidelog.errors import Severity
from tidelog.program.draft import examined
from tidelog.program.elaborate.definitions import STANDARD, TYPE_NAMES
from tidelog.program.library.catalog import AGGREGATE_NAMES, FUNCTION_NAMES, REPLACEABLE_NAMES
from tidelog.syntax import tree
from tidelog.syntax.quoting import (
    CONTEXTUAL,
    NAME,
    unquoted,
    written_column,
    written_field,
    written_function,
    written_path,
    written_relation,
    written_type,
    written_variable,
)

__all__ = ["Change", "Refused", "renamed"]

_COMPONENTS: Final = re.compile(r"`(?:[^`\\]|\\.)*`|[^`:]+")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_NAME: Final = re.compile(NAME)
_WRITTEN: Final[Mapping[Role, Callable[[str], str]]] = {
    Role.RELATION: written_relation,
    Role.TYPE: written_type,
    Role.CONSTRUCTOR: written_relation,
    Role.FUNCTION: written_function,
    Role.INDEX: written_relation,
    Role.VARIABLE: written_variable,
    Role.PARAMETER: written_type,
}
_TAKEN: Final = {  # with which names a new one must not agree
    Role.RELATION: (Role.RELATION, Role.FUNCTION, Role.TYPE),
    Role.TYPE: (Role.TYPE, Role.RELATION),
    Role.CONSTRUCTOR: (Role.CONSTRUCTOR,),
    Role.FUNCTION: (Role.FUNCTION, Role.RELATION),
    Role.INDEX: (Role.INDEX,),
}
_STANDARD: Final = frozenset(
    c.name for d in STANDARD.values() if isinstance(d, tree.TypeDefinition) for c in d.constructors
)
_CAPITALISED: Final = (Role.RELATION, Role.CONSTRUCTOR, Role.INDEX)


class Refused(Exception):
    """Why something is not renamed."""


@dataclass(frozen=True, slots=True)
class Change:
    """`text` replaces a range of a document."""

    document: Document
    start: int
    end: int
    text: str


def renamed(workspace: Workspace, symbol: Symbol, new: str) -> list[Change]:
    """The changes that give a symbol a new name. Raises `Refused`."""
    name = _read(symbol.role, new)
    if name == symbol.name:
        return []
    places = references(workspace, symbol)
    _expect_readable(workspace, places)
    changes = [_change(place, symbol, name, is_quoted="`" in new) for place in places]
    if symbol.role in (Role.VARIABLE, Role.PARAMETER):
        _expect_same_scopes(symbol, name, places[0].document, changes)
        return changes
    _expect_free(symbol, name, places)
    if symbol.role is Role.FIELD:
        _expect_certain(workspace, symbol, places)
    _expect_no_errors(workspace, changes)
    return changes


def _read(role: Role, written: str) -> str:
    """The name that was given, for a thing of this kind."""
    if role is Role.MODULE:
        raise Refused("a module is named after its file: rename the file")
    text = written.strip()
    if not _NAME.fullmatch(text) or "::" in text:
        raise Refused(f"`{text}` is not a name; other names are written in backticks")
    if text.startswith("`"):
        if role in (Role.CONSTRUCTOR, Role.INDEX) and not text[1].isupper():
            raise Refused(f"names of this kind are capitalised: {text}")
        return unquoted(text)
    if role in _CAPITALISED and not text[0].isupper():
        raise Refused(f"names of relations and constructors are capitalised: `{text[0].upper()}{text[1:]}`")
    is_lower = role in (Role.VARIABLE, Role.FUNCTION)
    if is_lower and text[0].isupper():
        raise Refused("names of variables and functions begin with a lowercase letter")
    if is_lower and (text == "_" or written_variable(text) != text or text in CONTEXTUAL):
        raise Refused(f"`{text}` is a word of the language")
    return text


def _expect_readable(workspace: Workspace, places: Iterable[Place]) -> None:
    """Refuse if a text with errors may hide a use."""
    documents = {p.document.name: p.document for p in places}
    for each in workspace.everything():
        each.settle()
        uses = any(r.name in documents for r in workspace.reached(each))
        if uses and each.has_errors:
            raise Refused(f"{each.name} has syntax errors; a use of the name could be missed")


def _expect_same_scopes(symbol: Symbol, name: str, document: Document, changes: Iterable[Change]) -> None:
    """Refuse if a variable would be another one's, or hide one: names must correspond one to one."""
    start = document.starts[symbol.block]
    text = document.block_text(symbol.block)
    for change in sorted(changes, key=lambda c: -c.start):
        text = text[: change.start - start] + change.text + text[change.end - start :]
    before = [p.name for p in document.names_of(symbol.block)]
    after = [p.name for p in Document(document.name, text).names()]
    pairs = {
        ((a.role, a.name, a.scope), (b.role, b.name, b.scope)) for a, b in zip(before, after, strict=False)
    }
    is_one_to_one = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    if len(before) != len(after) or not is_one_to_one or any(a[0] != b[0] for a, b in pairs):
        raise Refused(f"the name `{name}` is already used")


def _expect_free(symbol: Symbol, name: str, places: list[Place]) -> None:
    """Refuse if the new name is already one that would mean something else."""
    match symbol.role:
        case Role.FIELD:
            owner = symbol.owner
            document = places[0].document
            is_taken = owner is not None and bool(document.fields(owner, name))
        case Role.RELATION | Role.TYPE | Role.CONSTRUCTOR | Role.FUNCTION | Role.INDEX:
            documents = {p.document.name: p.document for p in places}
            kinds = _TAKEN[symbol.role]
            is_taken = any(d.declarations(kind, name) for d in documents.values() for kind in kinds)
            is_taken |= symbol.role is Role.TYPE and (name in TYPE_NAMES or name in _parameters(documents))
            is_taken |= symbol.role is Role.FUNCTION and _is_called(name, documents)
            is_taken |= symbol.role is Role.CONSTRUCTOR and name in _STANDARD
        case Role.MODULE | Role.VARIABLE | Role.PARAMETER:
            is_taken = False
        case _:
            assert_never(symbol.role)
    if is_taken:
        raise Refused(f"the name `{name}` is already used")


def _is_called(name: str, documents: Mapping[str, Document]) -> bool:
    """Whether a name is a standard function's that a program cannot replace, or one that is called."""
    if name in AGGREGATE_NAMES or (name in FUNCTION_NAMES and name not in REPLACEABLE_NAMES):
        return True
    called = (n.name for d in documents.values() for n in d.names() if n.name.role is Role.FUNCTION)
    return any(found.name == name for found in called)


def _parameters(documents: Mapping[str, Document]) -> set[str]:
    """The names of type parameters, which hide types."""
    return {n.name.name for d in documents.values() for n in d.names() if n.name.role is Role.PARAMETER}


def _expect_certain(workspace: Workspace, symbol: Symbol, places: list[Place]) -> None:
    """Refuse if a field after a dot may be this one or another one."""
    known = {(p.document.name, p.name.start) for p in places}
    documents = {p.document.name for p in places}
    for each in workspace.everything():
        if not any(r.name in documents for r in workspace.reached(each)):
            continue
        for place in each.names():
            name = place.name
            is_open = name.role is Role.FIELD and name.owner is None and name.name == symbol.name
            if is_open and (each.name, name.start) not in known:
                line = each.source.position(name.start)[0]
                raise Refused(
                    f"`.{symbol.name}` in {each.name}:{line} may be this field or another one of its name"
                )


def _change(place: Place, symbol: Symbol, name: str, *, is_quoted: bool) -> Change:
    document, found = place.document, place.name
    text = document.text[found.start : found.end]
    if symbol.role is Role.FIELD:
        is_dotted = document.text[: found.start].rstrip().endswith(".")
        new = written_field(name) if is_dotted else written_column(name)
        return Change(document, found.start, found.end, new)
    components = list(_COMPONENTS.finditer(text))
    own = len(symbol.name.split("::"))
    if len(components) > own:
        start = found.start + components[-own].start()
        return Change(document, start, found.end, written_path(name))
    if found.is_bare and (is_quoted and not _WORD.fullmatch(name)):
        raise Refused(f"`{symbol.name}` is used without braces, which a name in backticks cannot be")
    return Change(document, found.start, found.end, _WRITTEN[symbol.role](name))


def _expect_no_errors(workspace: Workspace, changes: Iterable[Change]) -> None:
    """Refuse if a text would have an error that it does not have now."""
    after = {d.name: d.text for d in workspace.everything()}
    before = dict(after)
    for change in sorted(changes, key=lambda c: -c.start):
        name = change.document.name
        after[name] = after[name][: change.start] + change.text + after[name][change.end :]
    for document in {c.document.name: c.document for c in changes}.values():
        for user in workspace.everything():
            if any(r.name == document.name for r in workspace.reached(user)):
                new = _errors(workspace, user, after)
                if new and not _errors(workspace, user, before):
                    raise Refused(f"the program would have an error: {new[0]}")


def _errors(workspace: Workspace, document: Document, texts: Mapping[str, str]) -> list[str]:
    paths = {d.path: texts[d.name] for d in workspace.everything() if d.path is not None}
    found = examined(texts[document.name], document.name, workspace.functions, workspace.search, paths)[1]
    return [d.message for d in found if d.severity is Severity.ERROR]
