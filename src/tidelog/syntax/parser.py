"""Text to tree, by recursive descent, with all syntax errors of the text.

After an error the parser resumes where an item certainly begins: after the full stop that ends the rule, or
at a declaration or rule that starts a line. So one error costs one item, and all errors of a file are
reported at once. docs/adr/0001 explains why the parser is written by hand and not with a parser library.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from tidelog.errors import Diagnostic, ProgramError, Source, Span
from tidelog.syntax import tree
from tidelog.syntax.chains import chain, depth
from tidelog.syntax.cursor import MAX_DEPTH, Cursor, Unexpected, describe
from tidelog.syntax.expressions import assignment, block, expression, rest_of_expression, type_name
from tidelog.syntax.lexer import tokenize

__all__ = ["parse", "read", "read_body"]

_STARTS = frozenset(["input", "output", "relation", "typedef", "function"])
_FILE_NAME = re.compile(r"\s*[^\s(){}][^\n(){}]*\.dl\s*")
_AND = "separate literals with commas: `a, b`"
_OR = "write alternatives in parentheses, separated by semicolons: `(a; b)`"
_JOINTS = {"and": _AND, "&": _AND, "or": _OR, "|": _OR, ";": _OR}
_BEGINNINGS = {
    "-": "comments begin with `//`",
    "/": "comments begin with `//`",
    ".": "declare a relation as in `input relation Edge(src: string, dst: string)`",
}


def parse(text: str, name: str = "<text>") -> tree.Program:
    """The tree of a text; raises a ProgramError with all its syntax errors."""
    program, problems = read(Source(name, text))
    if problems:
        raise ProgramError(problems)
    return program


def read(source: Source) -> tuple[tree.Program, list[Diagnostic]]:
    """The items of a source that can be parsed, and the syntax errors of the rest."""
    if _FILE_NAME.fullmatch(source.text):
        return tree.Program((), ()), [_not_a_text(source)]
    found = _read(source, again=False)
    if found[1] and ("--" in source.text or "%" in source.text):
        other = _read(source, again=True)
        return other if len(other[1]) <= len(found[1]) else found
    return found


def _read(source: Source, again: bool) -> tuple[tree.Program, list[Diagnostic]]:
    tokens, comments, problems = tokenize(source, again=again)
    unreadable = sorted(p.span.start for p in problems)
    cursor = Cursor(source, tokens, problems)
    items: list[tree.Item] = []
    while cursor.token.kind != "end":
        start = cursor.index
        cursor.depth = 0
        try:
            item = _item(cursor)
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
    return tree.Program(tuple(items), tuple(comments)), problems


def _not_a_text(source: Source) -> Diagnostic:
    """The diagnostic for a file name that was passed instead of the contents of the file."""
    start = len(source.text) - len(source.text.lstrip())
    span = Span(source, start, len(source.text.rstrip()))
    hint = f"read the file first, `Path({span.text!r}).read_text()`, or use `tidelog.open({span.text!r})`"
    return Diagnostic("E003", span, "expected the text of a program, found a file name", hint=hint)


def read_body(source: Source) -> tuple[tuple[tree.Literal, ...], list[Diagnostic]]:
    """The literals of a text that is a rule body, with an optional full stop, and its syntax errors."""
    tokens, _, problems = tokenize(source)
    cursor = Cursor(source, tokens, problems)
    try:
        body = _literals(cursor)
        cursor.accept(".")
        if cursor.token.kind != "end":
            raise _no_end(cursor, "a `,` or the end of the query")
    except Unexpected as unexpected:
        return (), problems or [unexpected.diagnostic]
    rule = tree.Rule((), body, cursor.since(0))
    if _is_deep(rule):
        cursor.complain("E006", rule.span, f"nesting exceeds the limit of {MAX_DEPTH} levels")
    return body, problems


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
        else:
            waiting += [(part, above + 1) for part in _parts(node)]
    return False


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
        if c.starts_line() and (c.token.kind == "Name" or c.token.text in _STARTS):
            column = c.source.position(c.token.start)[1]
            if column == 1 or c.token.text in _STARTS:
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
            return _relation(c)
        case "typedef":
            return _alias(c)
        case "function":
            return _function(c)
    if c.token.kind == "Name":
        return _rule(c)
    if c.token.kind == "name" and c.peek().text == "(":
        capital = c.token.text[0].upper() + c.token.text[1:]
        raise c.unexpected(
            f"`{c.token.text}` cannot be a relation: relation names must be capitalised",
            f"write `{capital}`",
            "E005",
        )
    message = f"expected a declaration or a rule, found {describe(c.token)}"
    raise Unexpected(Diagnostic("E003", c.span(c.token), message, hint=_BEGINNINGS.get(c.token.text)))


# -- declarations


def _relation(c: Cursor) -> tree.Relation:
    start = c.token.start
    role = c.advance().text if not c.at("relation") else ""
    c.expect("relation", f"after `{role}`")
    name = c.token
    if name.kind == "name":
        capital = name.text[0].upper() + name.text[1:]
        c.complain("E005", c.span(name), "relation names must be capitalised", f"write `{capital}`")
        c.advance()
    else:
        c.expect_kind("Name", "the name of a relation")
    columns = _columns(c, f"the relation `{name.text}`")
    key = _primary_key(c) if c.at("primary") else None
    if c.at(".") and not c.starts_line():
        raise c.unexpected("a declaration does not end with a full stop", "remove it")
    return tree.Relation(role, name.text, columns, key, c.since(start), c.span(name))


def _columns(c: Cursor, of: str) -> tuple[tree.Column, ...]:
    c.expect("(", f"before the columns of {of}")
    columns: list[tree.Column] = []
    while not c.at(")"):
        start = c.token.start
        name = _column_name(c, of)
        c.expect(":", f"between the name `{name}` and its type")
        columns.append(tree.Column(name, type_name(c), c.since(start)))
        if not c.accept(","):
            break
    c.expect(")", f"after the columns of {of}")
    return tuple(columns)


def _column_name(c: Cursor, of: str) -> str:
    """A column name. Names often come from users' files, so keywords and capitals are allowed."""
    if c.token.kind in ("name", "Name", "keyword") and c.token.text != "_" and "::" not in c.token.text:
        return c.advance().text
    raise c.unexpected(f"expected the name of a column of {of}, found {describe(c.token)}")


def _primary_key(c: Cursor) -> tuple[tree.Variable, ...]:
    c.advance()
    c.expect("key", "after `primary`")
    c.expect("(", "before the columns of the key")
    columns: list[tree.Variable] = []
    while not c.at(")"):
        token = c.token
        columns.append(tree.Variable(_column_name(c, "the key"), c.span(token)))
        if not c.accept(","):
            break
    c.expect(")", "after the columns of the key")
    return tuple(columns)


def _alias(c: Cursor) -> tree.Alias:
    start = c.advance().start
    name = c.token
    if name.kind not in ("name", "Name"):
        raise c.unexpected(f"expected the name of a type, found {describe(name)}")
    c.advance()
    c.expect("=", f"after the name `{name.text}`")
    return tree.Alias(name.text, type_name(c), c.since(start), c.span(name))


def _function(c: Cursor) -> tree.Function:
    start = c.advance().start
    name = c.expect_kind("name", "a function name, which starts with a lowercase letter")
    parameters = _columns(c, f"the function `{name.text}`")
    c.expect(":", "before the type of the result")
    result = type_name(c)
    body = block(c)
    return tree.Function(name.text, parameters, result, body, c.since(start), c.span(name))


# -- rules


def _rule(c: Cursor) -> tree.Rule:
    start = c.token.start
    heads = [_atom(c)]
    while c.accept(","):
        if c.token.kind != "Name":
            raise c.unexpected(f"expected another head of the rule, found {describe(c.token)}")
        heads.append(_atom(c))
    body = _literals(c) if c.accept(":-") else ()
    if not c.at("."):
        raise _no_end(c, "a `,` or the full stop that ends the rule" if body else "`:-` or the full stop")
    c.advance()
    return tree.Rule(tuple(heads), body, c.since(start))


def _no_end(c: Cursor, expected: str) -> Unexpected:
    """The error for a token that neither continues nor ends the literals."""
    hint = _JOINTS.get(c.token.text)
    match c.token.text, c.peek().text:
        case "<", "-":
            hint = "write `:-`"
        case "-", "-":
            hint = "comments begin with `//`"
    return c.unexpected(f"expected {expected}, found {describe(c.token)}", hint)


def _literals(c: Cursor) -> tuple[tree.Literal, ...]:
    literals = [_literal(c)]
    while c.accept(","):
        literals.append(_literal(c))
    return tuple(literals)


def _literal(c: Cursor) -> tree.Literal:
    start = c.token.start
    if c.token.kind == "Name" and c.peek().text == "(":
        return _atom(c)
    if c.at("not") and c.peek().kind == "Name" and c.peek(2).text == "(":
        c.advance()
        return tree.Negation(_atom(c), c.since(start))
    if c.at("var"):
        return assignment(c)
    if c.at("("):
        return _parenthesis(c)
    return _condition(c, start, expression(c))


def _condition(c: Cursor, start: int, value: tree.Expr) -> tree.Condition:
    if c.at("=") and isinstance(value, tree.Variable):
        raise c.unexpected(
            "`=` does not compare", f"write `var {value.name} = …` to name a value, `==` to compare"
        )
    return tree.Condition(value, c.since(start))


def _parenthesis(c: Cursor) -> tree.Literal:
    """`(a, b; c)`, or the start of an expression. Which one it is is known only after the parenthesis."""
    start, depth = c.token.start, c.depth
    c.deepen()
    c.advance()
    alternatives = [_literals(c)]
    while c.accept(";"):
        alternatives.append(_literals(c))
    if not c.accept(")"):
        raise _no_end(c, "`)` to close the parenthesis")
    c.depth = depth
    match alternatives:
        case [(tree.Condition(first),)]:
            return _condition(c, start, rest_of_expression(c, start, first))
        case _:
            return tree.Disjunction(tuple(alternatives), c.since(start))


def _atom(c: Cursor) -> tree.Atom:
    name = c.advance()
    c.expect("(", f"after the relation `{name.text}`")
    args: list[tree.Argument] = []
    while not c.at(")"):
        args.append(_argument(c))
        if not c.accept(","):
            break
    c.expect(")", f"after the arguments of `{name.text}`")
    return tree.Atom(name.text, tuple(args), c.since(name.start), c.span(name))


def _argument(c: Cursor) -> tree.Argument:
    start = c.token.start
    if not c.accept("."):
        return tree.Argument(expression(c), None, c.since(start))
    name = _column_name(c, "the relation")
    c.expect("=", f"after `.{name}`")
    return tree.Argument(expression(c), name, c.since(start))
