"""What a name denotes: the document and the declaration, and all places that denote the same.

The rules are those of `program.modules`: a name is looked up in its own document, then among what this
imports. A field after a dot, whose owner only type inference knows, is resolved if one declaration in reach
has its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from tidelog.editors.names.document import Document, Place
from tidelog.editors.names.occurrences import Occurrence, Role
from tidelog.editors.names.workspace import Workspace
from tidelog.program.elaborate.definitions import TYPE_NAMES
from tidelog.syntax import tree

__all__ = ["Symbol", "declarations", "references", "symbol_at"]

_OWN: Final = {
    Role.RELATION: (Role.RELATION, Role.FUNCTION),
    Role.TYPE: (Role.TYPE, Role.RELATION),
    Role.CONSTRUCTOR: (Role.CONSTRUCTOR,),
    Role.FUNCTION: (Role.FUNCTION, Role.RELATION),
    Role.INDEX: (Role.INDEX,),
}

Owner: TypeAlias = tuple[Role, str]


@dataclass(frozen=True, slots=True)
class Symbol:
    """`document` is the name of the one that declares it. `block` and `scope` are those of a variable."""

    document: str
    role: Role
    name: str
    owner: Owner | None = None
    block: int = -1
    scope: int = 0


def symbol_at(workspace: Workspace, place: Place) -> Symbol | None:
    """What a name denotes; None for standard names, for unknown ones, and for fields that could be
    several."""
    document, name = place.document, place.name
    match name.role:
        case Role.VARIABLE | Role.PARAMETER:
            return Symbol(document.name, name.role, name.name, None, place.block, name.scope)
        case Role.MODULE:
            other = workspace.module(document, name.name)
            return None if other is None else Symbol(other.name, Role.MODULE, name.name)
        case Role.FIELD:
            return _field(workspace, document, name)
        case Role.RELATION | Role.TYPE | Role.CONSTRUCTOR | Role.FUNCTION | Role.INDEX:
            found = _declared(workspace, document, name.role, name.name)
            return None if found is None else Symbol(found[0].name, *found[1])
        case _:
            assert_never(name.role)


def _declared(
    workspace: Workspace, document: Document, role: Role, name: str
) -> tuple[Document, Owner] | None:
    """The document that declares a name, and what it declares."""
    own = _own(document, role, name)
    if own is not None:
        return document, own
    end = name.rfind("::")
    while end > 0:
        module = workspace.module(document, name[:end])
        if module is not None:
            found = _own(module, role, name[end + 2 :])
            return None if found is None else (module, found)
        end = name.rfind("::", 0, end)
    return None


def _own(document: Document, role: Role, name: str) -> Owner | None:
    for kind in _OWN[role]:
        is_row = role is Role.TYPE and kind is Role.RELATION
        if (not is_row or name not in TYPE_NAMES) and document.declarations(kind, name):
            return kind, name
    return None


def _field(workspace: Workspace, document: Document, name: Occurrence) -> Symbol | None:
    if name.owner is None:
        found = {
            _field_symbol(each, p.name)
            for each in workspace.reached(document)
            for p in each.names()
            if p.name.role is Role.FIELD and p.name.is_declaration and p.name.name == name.name
        }
        return found.pop() if len(found) == 1 else None
    if name.is_declaration:
        return _field_symbol(document, name)
    declared = _declared(workspace, document, *name.owner)
    if declared is None:
        return None
    return _member(workspace, *declared, name.name)


def _field_symbol(document: Document, name: Occurrence) -> Symbol:
    return Symbol(document.name, Role.FIELD, name.name, name.owner)


def _member(workspace: Workspace, document: Document, owner: Owner, name: str) -> Symbol | None:
    """A column of a relation or a field of a constructor; for a relation with a row type, of that."""
    if document.fields(owner, name):
        return Symbol(document.name, Role.FIELD, name, owner)
    relation = document.relation(owner[1]) if owner[0] is Role.RELATION else None
    if relation is None or relation.row is None:
        return None
    found = _declared(workspace, document, Role.TYPE, relation.row.name)
    if found is None:
        return None
    if found[1][0] is Role.RELATION:
        return _member(workspace, found[0], found[1], name)
    constructors = _constructors(found[0], found[1][1])
    return _member(workspace, found[0], (Role.CONSTRUCTOR, constructors[0]), name) if constructors else None


def _constructors(document: Document, type_: str) -> list[str]:
    for place in document.declarations(Role.TYPE, type_):
        item = document.blocks[place.block].item
        if isinstance(item, tree.TypeDefinition):
            return [c.name for c in item.constructors]
    return []


def declarations(workspace: Workspace, symbol: Symbol) -> list[Place]:
    """Where a symbol is declared. Of a variable, it is the place that binds it, or the first one."""
    document = workspace.named(symbol.document)
    if document is None:
        return []
    match symbol.role:
        case Role.VARIABLE | Role.PARAMETER:
            places = list(_in_block(document, symbol))
            return [p for p in places if p.name.is_declaration][:1] or places[:1]
        case Role.MODULE:
            return [Place(document, 0, Occurrence(Role.MODULE, symbol.name, 0, 0))]
        case Role.FIELD:
            return document.fields(symbol.owner, symbol.name) if symbol.owner is not None else []
        case Role.RELATION | Role.TYPE | Role.CONSTRUCTOR | Role.FUNCTION | Role.INDEX:
            return document.declarations(symbol.role, symbol.name)
        case _:
            assert_never(symbol.role)


def references(workspace: Workspace, symbol: Symbol) -> list[Place]:
    """All places that denote a symbol, its declarations included, by document and position."""
    document = workspace.named(symbol.document)
    if document is None:
        return []
    if symbol.role in (Role.VARIABLE, Role.PARAMETER):
        return list(_in_block(document, symbol))
    return [
        place
        for each in _users(workspace, document)
        for place in each.names()
        if _may_denote(place.name, symbol) and symbol_at(workspace, place) == symbol
    ]


def _users(workspace: Workspace, document: Document) -> list[Document]:
    """The document itself, and those that import it, directly or not."""
    return [d for d in workspace.everything() if any(r.name == document.name for r in workspace.reached(d))]


def _in_block(document: Document, symbol: Symbol) -> Iterator[Place]:
    for place in document.names_of(symbol.block):
        name = place.name
        if (name.role, name.name, name.scope) == (symbol.role, symbol.name, symbol.scope):
            yield place


def _may_denote(name: Occurrence, symbol: Symbol) -> bool:
    """A quick test before a name is resolved."""
    if symbol.role in (Role.MODULE, Role.FIELD):
        return name.role is symbol.role and (name.name == symbol.name or symbol.role is Role.MODULE)
    roles = _OWN.get(name.role, ())
    return symbol.role in roles and (name.name == symbol.name or name.name.endswith(f"::{symbol.name}"))
