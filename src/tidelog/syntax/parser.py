"""Text to tree, by recursive descent, with all syntax errors of the text.

After an error the parser resumes where an item certainly begins: after the full stop that ends the rule, or
at a declaration or rule that starts a line. So one error costs one item, and all errors of a file are
reported at once. docs/adr/0001 explains why the parser is written by hand and not with a parser library.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.errors import Diagnostic, ProgramError, Source, Span
from tidelog.syntax import tree
from tidelog.syntax.attributes import attributed
from tidelog.syntax.bodies import literals, no_end
from tidelog.syntax.chains import chain, depth, row_depth
from tidelog.syntax.cursor import MAX_DEPTH, Cursor, Unexpected, describe
from tidelog.syntax.definitions import function, is_kind, relation, type_definition
from tidelog.syntax.folds import fold, is_fold
from tidelog.syntax.headers import expect_at_start, header, is_header
from tidelog.syntax.imperative import head, imperative_rule, is_loop
from tidelog.syntax.indexes import index, is_index
from tidelog.syntax.lexer import tokenize
from tidelog.syntax.prefixes import declared_prefixes, prefix, with_short_names
from tidelog.syntax.quoting import STARTS

__all__ = ["First", "is_file_name", "parse", "read", "read_body", "read_first"]

_RESUMED = STARTS | {"#["}  # what begins an item wherever it starts a line
_FILE_NAME = re.compile(r"\s*[^\s(){}][^\n(){}]*\.dl\s*")
_RAW = re.compile(r"\br\Z")
_BEGINNINGS = {
    "-": "comments begin with `//`",
    "/": "comments begin with `//`",
    "for": "write `for (Relation(x) if condition) Head(x).`",
    ".": "declare a relation as in `input relation Edge(src: string, dst: string)`",
}
_FUNCTION = "functions are declared with `function`: `function double(x: int): int { x * 2 }`"
_TYPE = "types are declared with `typedef`: `typedef Shape = Circle{radius: int} | Square{side: int}`"
_PREFIX = "prefixes are declared as in `prefix ex: <http://example.org/>`"
_DECLARED = {"prefix": _PREFIX, "fn": _FUNCTION, "def": _FUNCTION, "func": _FUNCTION} | dict.fromkeys(
    ["struct", "enum", "type", "data"], _TYPE
)


_DIRECTIVES = {
    "input": "declare a relation as `input`: `input relation Edge(src: string, dst: string)`",
    "output": "declare a relation as `output`: `output relation Reach(src: string, dst: string)`",
    "printsize": "declare a relation as `output`: `output relation Reach(src: string, dst: string)`",
    "type": _TYPE,
}


def parse(text: str, name: str = "<text>") -> tree.Program:
    """The tree of a text; raises a ProgramError with all its syntax errors."""
    program, problems = read(Source(name, text))
    if problems:
        raise ProgramError(problems)
    return program


def read(source: Source) -> tuple[tree.Program, list[Diagnostic]]:
    """The items of a source that can be parsed, and the syntax errors of the rest."""
    if is_file_name(source.text):
        return tree.Program((), ()), [_not_a_text(source)]
    found = _read(source, again=False)
    if found[1] and ("--" in source.text or "%" in source.text):
        other = _read(source, again=True)
        return other if len(other[1]) <= len(found[1]) else found
    return found


def is_file_name(text: str) -> bool:
    """Whether a text looks like the name of a program's file, which no program does."""
    return _FILE_NAME.fullmatch(text) is not None


def _read(source: Source, again: bool) -> tuple[tree.Program, list[Diagnostic]]:
    tokens, comments, problems = tokenize(source, again=again)
    prefixes = {**source.prefixes, **declared_prefixes(tokens)}
    tokens = with_short_names(source, tokens, problems)
    unreadable = sorted(p.span.start for p in problems)
    cursor = Cursor(source, tokens, problems)
    items: list[tree.Item] = []
    while cursor.token.kind != "end":
        start = cursor.index
        cursor.depth = 0
        try:
            item = _item(cursor)
            expect_at_start(cursor, item, items)
            if _is_deep(item):
                cursor.complain("E006", item.span, f"nesting exceeds the limit of {MAX_DEPTH} levels")
            else:
                items.append(item)
        except Unexpected as unexpected:
            # If the lexer skipped characters in this item, they are the likely cause: report only those.
            left_out = bisect_left(unreadable, tokens[start].start)
            if left_out == bisect_right(unreadable, cursor.token.start):
                problems.append(unexpected.diagnostic)
            _recover(cursor, start)
    return tree.Program(tuple(items), tuple(comments), prefixes), problems


def _not_a_text(source: Source) -> Diagnostic:
    """The diagnostic for a file name that was passed instead of the contents of the file."""
    start = len(source.text) - len(source.text.lstrip())
    span = Span(source, start, len(source.text.rstrip()))
    hint = f"read the file first, `Path({span.text!r}).read_text()`, or use `tidelog.open({span.text!r})`"
    return Diagnostic("E003", span, "expected the text of a program, found a file name", hint=hint)


def read_body(source: Source) -> tuple[tuple[tree.Literal, ...], list[Diagnostic]]:
    """The literals of a text that is a rule body, with an optional full stop, and its syntax errors."""
    tokens, _, problems = tokenize(source)
    tokens = with_short_names(source, tokens, problems)
    cursor = Cursor(source, tokens, problems)
    try:
        body = literals(cursor)
        cursor.accept(".")
        if cursor.token.kind != "end":
            raise no_end(cursor, "a `,` or the end of the query")
    except Unexpected as unexpected:
        return (), problems or [unexpected.diagnostic]
    rule = tree.Rule((), body, cursor.since(0))
    if _is_deep(rule):
        cursor.complain("E006", rule.span, f"nesting exceeds the limit of {MAX_DEPTH} levels")
    return body, problems


@dataclass(frozen=True, slots=True)
class First:
    """What a text begins with: an item, or the literals of a query, which have none; and where that ends.

    `is_cut` says that the text ends too early, and `is_last` that nothing follows.
    """

    item: tree.Item | None
    end: int
    is_last: bool
    is_cut: bool = False
    problems: tuple[Diagnostic, ...] = ()


def read_first(source: Source, start: int, *, is_query: bool = False) -> First:
    """The first item from an offset on, or the first query, with an optional full stop."""
    tokens, _, problems = tokenize(source, start)
    tokens = with_short_names(source, tokens, problems)
    cursor = Cursor(source, tokens, problems)
    item: tree.Item | None = None
    try:
        if is_query:
            literals(cursor)
            cursor.accept(".")
        else:
            item = _item(cursor)
    except Unexpected as unexpected:
        is_cut = cursor.token.kind == "end" or any(map(_is_unclosed, problems))
        return First(None, cursor.token.start, True, is_cut, tuple(problems) or (unexpected.diagnostic,))
    inside = tuple(p for p in problems if p.span.start < cursor.read)
    return First(item, cursor.read, cursor.token.kind == "end", False, inside)


def _is_unclosed(problem: Diagnostic) -> bool:
    """Whether a diagnostic is about a comment, or a string of several lines, without an end."""
    span = problem.span
    return problem.code == "E002" and (
        span.text == "/*" or bool(_RAW.search(span.source.text, 0, span.start))
    )


def _is_deep(item: tree.Item) -> bool:
    """Whether a tree is too deep for the recursive functions that walk it.

    The cursor counts the depth while descending. Chains of methods and operators deepen the tree on the left,
    which is visible only in the finished tree.
    """
    if item.span.end - item.span.start <= MAX_DEPTH:
        return False
    waiting: list[tuple[object, int]] = [(item, 0)]
    while waiting:
        node, above = waiting.pop()
        if above > MAX_DEPTH + 10:  # the item itself takes a few levels
            return True
        if isinstance(node, tree.Binary):
            row = chain(node)
            above += depth(len(row), node.op)
            waiting += [(operator.right, above) for operator in row]
            waiting.append((row[-1].left, above))
        elif isinstance(node, tree.Conditional):
            branches = _branches(node)
            above += row_depth(len(branches))
            waiting += [(part, above) for branch in branches for part in (branch.condition, branch.then)]
            waiting.append((branches[-1].otherwise, above))
        elif isinstance(node, tree.Block):
            above += row_depth(len(node.bindings))
            waiting += [(part, above) for part in (*node.bindings, node.result)]
        else:
            waiting += [(part, above + 1) for part in _parts(node)]
    return False


def _branches(node: tree.Conditional) -> list[tree.Conditional]:
    """The conditions of a row of `else if`."""
    found = [node]
    while isinstance(following := found[-1].otherwise, tree.Conditional):
        found.append(following)
    return found


def _parts(node: object) -> Iterator[object]:
    """The direct children of a node, or the elements of a tuple."""
    values = node if isinstance(node, tuple) else [getattr(node, s) for s in getattr(node, "__slots__", ())]
    for value in values:
        if isinstance(value, tuple):
            yield from _parts(value)
        elif not isinstance(value, Span):
            yield value


def _recover(c: Cursor, start: int) -> None:
    """Skip to the start of the next item."""
    if c.index == start and not c.at("."):
        c.advance()
    while c.token.kind != "end":
        if c.starts_line() and (c.token.kind in ("Name", "quoted") or c.token.text in _RESUMED):
            column = c.source.position(c.token.start)[1]
            if column == 1 or c.token.text in _RESUMED:
                return
        if (
            c.starts_line()
            and (_is_kind(c) or is_loop(c) or is_fold(c))
            and c.source.position(c.token.start)[1] == 1
        ):
            return
        if c.at("."):
            stop = c.advance()
            if c.token.start != stop.end or c.token.kind == "Name":
                return
            continue
        c.advance()


def _item(c: Cursor) -> tree.Item:
    match c.token.text if c.token.kind == "keyword" else "":
        case "input" | "output" | "relation":
            return relation(c)
        case "typedef":
            return type_definition(c)
        case "function":
            return function(c)
    if _is_kind(c):
        return relation(c)
    if c.at("#["):
        return attributed(c)
    if c.token.kind == "prefix":
        return prefix(c)
    if is_header(c):
        return header(c)
    if is_index(c):
        return index(c)
    if is_fold(c):
        return fold(c)
    if is_loop(c):
        return imperative_rule(c)
    if c.token.kind in ("Name", "quoted"):
        return _rule(c)
    if c.token.kind == "name" and c.peek().text == "(":
        capital = c.token.text[0].upper() + c.token.text[1:]
        message = f"`{c.token.text}` cannot be a relation: relation names must be capitalised"
        raise Unexpected(Diagnostic("E005", c.span(c.token), message, hint=f"write `{capital}`"))
    word = (
        _DECLARED.get(c.token.text) if c.peek().kind in ("name", "Name") or c.token.text == "prefix" else None
    )
    if word is not None:
        raise c.unexpected(f"expected a declaration or a rule, found {describe(c.token)}", word)
    message = f"expected a declaration or a rule, found {describe(c.token)}"
    hint = _DIRECTIVES.get(c.peek().text) if c.at(".") else None
    hint = hint or _BEGINNINGS.get(c.token.text)
    raise Unexpected(Diagnostic("E003", c.span(c.token), message, hint=hint))


def _is_kind(c: Cursor) -> bool:
    """Whether `multiset Name` or `stream Name` comes next."""
    return is_kind(c.token) and c.peek().kind in ("name", "Name", "quoted")


def _rule(c: Cursor) -> tree.Rule:
    start = c.token.start
    heads = [head(c)]
    while c.accept(","):
        if c.token.kind not in ("Name", "quoted"):
            raise c.unexpected(f"expected another head of the rule, found {describe(c.token)}")
        heads.append(head(c))
    body = literals(c) if c.accept(":-") else ()
    if not c.at("."):
        raise no_end(c, "a `,` or the full stop that ends the rule" if body else "`:-` or the full stop")
    c.advance()
    return tree.Rule(tuple(heads), body, c.since(start))
