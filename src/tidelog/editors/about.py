"""What a name is, as Markdown for people: its declaration, the comment above it, its type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import assert_never

from tidelog.editors.names.document import Document, Place
from tidelog.editors.names.occurrences import Occurrence, Role
from tidelog.editors.names.symbols import Symbol, declarations, symbol_at
from tidelog.editors.names.workspace import Workspace
from tidelog.errors import clip
from tidelog.program.declared import PythonFunction
from tidelog.program.elaborate.definitions import STANDARD, TYPE_NAMES
from tidelog.program.library.catalog import lookup, lookup_aggregate
from tidelog.program.model import Program
from tidelog.program.typed import Rule, Var
from tidelog.syntax import tree

__all__ = ["about"]

_LONGEST = 2000  # characters
_MOST_EXAMPLES = 3


def about(workspace: Workspace, place: Place, program: Program | None) -> str | None:
    """What the name at a place is. Types of variables are those of a program that was checked before."""
    symbol = symbol_at(workspace, place)
    if symbol is None:
        return _standard(place.name)
    match symbol.role:
        case Role.VARIABLE:
            type_ = _declared_type(place, symbol) or (None if program is None else _type(place, program))
            return _code(f"{symbol.name}: {type_}" if type_ else symbol.name)
        case Role.PARAMETER:
            return _code(f"{symbol.name} (type parameter)")
        case Role.MODULE:
            return f"module `{symbol.name}`: {symbol.document}"
        case Role.FIELD | Role.RELATION | Role.TYPE | Role.CONSTRUCTOR | Role.FUNCTION | Role.INDEX:
            found = declarations(workspace, symbol)
            return "\n\n".join(_declaration(p, symbol) for p in found) or None
        case _:
            assert_never(symbol.role)


def _code(text: str) -> str:
    return f"```tidelog\n{clip(text, _LONGEST)}\n```"


def _declaration(place: Place, symbol: Symbol) -> str:
    document, item = place.document, place.document.blocks[place.block].item
    if item is None:
        return ""
    if symbol.role is Role.FIELD:
        column = next((c for c in _columns(item) if c.name == symbol.name), None)
        owner = symbol.owner[1] if symbol.owner is not None else ""
        return _code(f"{column.span.text if column else symbol.name}  // of {owner}")
    span = item.declaration if isinstance(item, tree.Relation) and item.declaration.is_known else item.span
    text = span.text.partition("{")[0].rstrip() if isinstance(item, tree.Function | tree.Fold) else span.text
    comment = _comment(document, place.block)
    return _code(text) + (f"\n\n{comment}" if comment else "")


def _columns(item: tree.Item) -> Iterator[tree.Column]:
    if isinstance(item, tree.Relation):
        yield from item.columns
    elif isinstance(item, tree.TypeDefinition):
        for made in item.constructors:
            yield from made.fields


def _comment(document: Document, block: int) -> str:
    """The lines of comment directly above an item."""
    lines = document.text[: document.starts[block]].rstrip(" \t").split("\n")
    found: list[str] = []
    if lines and not lines[-1].strip():
        lines.pop()
    while lines and lines[-1].lstrip().startswith("//"):
        found.append(lines.pop().strip().removeprefix("//").strip())
    return clip("\n".join(reversed(found)), _LONGEST)


# -- types of variables


def _declared_type(place: Place, symbol: Symbol) -> str | None:
    """The type of a parameter."""
    item = place.document.blocks[place.block].item
    if isinstance(item, tree.Function | tree.Fold):
        columns = [c for c in item.parameters if c.name == symbol.name]
        return columns[0].type.span.text if columns and symbol.scope == 1 else None
    return None


def _type(place: Place, program: Program) -> str | None:
    """The type of a variable of a rule or function, by the text of its item."""
    item = place.document.blocks[place.block].item
    if item is None:
        return None
    rules: list[object] = [r for r in program.rules.values() if _is_of(r, item)]
    if isinstance(item, tree.Function):
        function = program.functions.get(item.name)
        rules = [function] if function is not None and not isinstance(function, PythonFunction) else []
    types = {str(v.type) for rule in rules for v in _variables(rule) if v.name == place.name.name}
    return types.pop() if len(types) == 1 else None


def _is_of(rule: Rule, item: tree.Item) -> bool:
    """Whether a rule was made from an item, or from one with the same text."""
    span = rule.span
    if isinstance(item, tree.RuleLoop):
        return span.is_known and span.text in item.span.text
    return span.end - span.start == item.span.end - item.span.start and span.text == item.span.text


def _variables(root: object) -> Iterator[Var]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Var):
            yield node
        elif isinstance(node, tuple):
            waiting += node
        elif is_dataclass(node) and not isinstance(node, type):
            waiting += [getattr(node, f.name) for f in fields(node) if f.name != "span"]


# -- the standard library


def _standard(name: Occurrence) -> str | None:
    match name.role:
        case Role.FUNCTION | Role.RELATION:
            return _standard_function(name.name.rpartition("::")[2])
        case Role.TYPE:
            is_known = name.name in TYPE_NAMES
            return _code(f"{name.name} (standard type)") if is_known else None
        case Role.CONSTRUCTOR:
            owners = [d for d in STANDARD.values() if isinstance(d, tree.TypeDefinition)]
            found = [d.name for d in owners if any(c.name == name.name for c in d.constructors)]
            return _code(f"{name.name} (constructor of {found[0]})") if found else None
        case Role.INDEX | Role.MODULE | Role.FIELD | Role.VARIABLE | Role.PARAMETER:
            return None
        case _:
            assert_never(name.role)


def _standard_function(name: str) -> str | None:
    texts: list[str] = []
    for function in lookup(name):
        examples = [f"{e.call} == {e.result}" for e in function.examples if e.result is not None]
        lines = "\n".join([function.signature, *(f"// {e}" for e in examples[:_MOST_EXAMPLES])])
        texts.append(f"{_code(lines)}\n\n{function.doc}")
    aggregate = lookup_aggregate(name)
    if aggregate is not None:
        texts.append(_code(f"{name}(…) (aggregate)"))
    return "\n\n".join(texts) or None
