"""The names that can be completed at a place in a document: its own, and those of the modules it imports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tidelog.editors.completion import Names, Suggestion, suggestions
from tidelog.editors.names.document import Document
from tidelog.editors.names.workspace import Workspace
from tidelog.errors import Source
from tidelog.program.elaborate.definitions import TYPE_NAMES
from tidelog.syntax import tree
from tidelog.syntax.inline import print_type
from tidelog.syntax.lexer import tokenize
from tidelog.syntax.quoting import STARTS

__all__ = ["suggested"]


def suggested(workspace: Workspace, document: Document, offset: int) -> list[Suggestion]:
    """What can stand at an offset."""
    block = document.block_at(offset)
    before = document.text[document.starts[block] : offset]
    found = suggestions(before, _names(workspace, document, block))
    return list({s.text: s for s in found}.values())


def _names(workspace: Workspace, document: Document, block: int) -> Names:
    relations: dict[str, str] = {}
    fields: dict[str, tuple[str, ...]] = {}
    types: dict[str, None] = dict.fromkeys(t for t in TYPE_NAMES if t.isidentifier())
    functions: dict[str, None] = {}
    for prefix, item in _items(workspace, document):
        match item:
            case tree.Relation(name=name, columns=columns):
                relations[prefix + name] = _columns(item)
                fields[prefix + name] = tuple(c.name for c in columns)
            case tree.TypeDefinition(name=name, constructors=constructors):
                types[prefix + name] = None
                fields |= {prefix + c.name: tuple(f.name for f in c.fields) for c in constructors}
            case tree.Alias(name=name):
                types[prefix + name] = None
            case tree.Function(name=name) | tree.Fold(name=name):
                functions[prefix + name] = None
            case _:
                pass
    variables = _variables(document.block_text(block))
    return Names(
        relations, fields, tuple(sorted(types)), tuple(functions), tuple(sorted(STARTS)), tuple(variables)
    )


def _variables(text: str) -> dict[str, None]:
    """The names in a text that may be variables. It may have errors, so only its tokens count."""
    tokens = tokenize(Source("", text))[0]
    return {
        t.text: None
        for t, after in pairwise(tokens)
        if t.kind == "name" and t.text != "_" and after.text != "("
    }


def _items(workspace: Workspace, document: Document) -> Iterator[tuple[str, tree.Item]]:
    """The declarations in reach, each with what its names are qualified with."""
    yield from (("", item) for item in document.items)
    shortest: dict[str, str] = {}
    for name, path in workspace.imports(document).items():
        known = shortest.get(str(path), name)
        shortest[str(path)] = min(known, name, key=len)
    for name in shortest.values():
        module = workspace.module(document, name)
        if module is not None:
            yield from ((f"{name}::", item) for item in module.items)


def _columns(relation: tree.Relation) -> str:
    if relation.row is not None:
        return f"[{print_type(relation.row)}]"
    return f"({', '.join(f'{c.name}: {print_type(c.type)}' for c in relation.columns)})"
