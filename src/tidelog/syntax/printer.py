"""Tree to text: the standard layout of a program. `parse(print(t)) == t`, and printing is idempotent.

An item that fits stays on one line. Otherwise each of its parts (columns, literals, arguments, statements)
gets its own line, recursively. The lines are laid out first, then comments are inserted: a comment on its own
line stays before the line that follows it, a trailing comment stays at the end of its line, and a comment
inside an item that became one line moves to the end of that line. No comment is lost; their order is kept.

Invariant: breaking by width does not depend on comments. If an item is broken because of a comment, that
comment is before its last line, so printing again breaks it the same way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from tidelog.errors import Span
from tidelog.syntax import tree
from tidelog.syntax.chains import conditionals
from tidelog.syntax.inline import (
    print_aggregate,
    print_argument,
    print_binding,
    print_column,
    print_condition,
    print_expression,
    print_literal,
    print_literals,
    print_opening,
    print_parameter,
    print_parameters,
    print_rule_opening,
    print_rule_statement,
    print_statement,
    print_type,
    print_version,
    quote,
)
from tidelog.syntax.lines import Line, is_after_blank, weave
from tidelog.syntax.precedence import UNARY
from tidelog.syntax.quoting import (
    written_column,
    written_function,
    written_path,
    written_relation,
    written_type,
    written_variable,
)

__all__ = [
    "print_expression",
    "print_item",
    "print_line",
    "print_literal",
    "print_program",
    "print_type",
    "quote",
]

WIDTH = 100
_FEW = 2  # statements of a function on one line
_BLOCK = tree.Block | tree.Steps
INDENT = "    "
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_T = TypeVar("_T")


def print_line(item: tree.Item) -> str:
    """The text of an item on one line of any length."""
    match item:
        case tree.Relation(columns=columns, row=row):
            attributes = f"{_attributes(item)} " if item.attributes else ""
            return f"{attributes}{_opening(item)}{_columns(columns, row)}{_ending(item)}"
        case tree.Alias(name, type_, parameters=parameters):
            return f"typedef {written_type(name)}{print_parameters(parameters)} = {print_type(type_)}"
        case tree.TypeDefinition(constructors=constructors):
            return f"{_opening(item)} {' | '.join(_constructors(constructors))}"
        case tree.Function(body=body):
            return f"{_opening(item)[:-1]}{print_expression(body)}"
        case tree.Fold():
            parts = " ".join(line.text.strip() for line in _fold(item))
            return f"{_opening(item)[:-1]}{{ {parts} }}"
        case tree.Module(path):
            return f"module {written_path(path)}"
        case tree.Import(path, alias):
            return f"import {written_path(path)}{f' as {written_type(alias)}' if alias else ''}"
        case tree.Prefix(name, namespace):
            return f"prefix {name}: <{namespace}>"
        case tree.Index(name, parameters, atom):
            given = ", ".join(map(print_parameter, parameters))
            return f"index {written_relation(name)}({given}) on {print_literal(atom)}"
        case tree.Rule(heads, body):
            implied_by = f" :- {print_literals(body)}" if body else ""
            return f"{print_literals(heads)}{implied_by}."
        case tree.RuleLoop():
            text = print_rule_statement(item)
            return text if text.endswith("}") else f"{text}."
        case _:
            assert_never(item)


def print_item(item: tree.Item) -> str:
    """The text of an item without its comments."""
    return "\n".join(line.text for line in _layout(item, ()))


def print_program(program: tree.Program) -> str:
    """The whole text with its comments. At most one blank line between items is kept."""
    starts = [c.span.start for c in program.comments]
    lines: list[Line] = []
    previous: tree.Item | None = None
    for item in program.items:
        first, *others = _layout(item, starts)
        lines += replace(first, blank=_is_apart(item, previous)), *others
        previous = item
    return "".join(f"{line}\n" for line in weave(lines, program.comments))


def _is_apart(item: tree.Item, previous: tree.Item | None) -> bool:
    """Whether to print a blank line before an item: if the source has one.

    An item without a source gets one if the item before it is of another kind.
    """
    if not item.span.is_known:
        return type(item) is not type(previous)
    return is_after_blank(item.span)


# -- lines


def _layout(item: tree.Item, comments: Sequence[int]) -> list[Line]:
    """The lines of an item: one, if it fits and no comment is before its last part.

    `comments` holds the start offsets of the comments.
    """
    if isinstance(item, tree.Relation) and item.attributes:
        before = Line(_attributes(item), item.span.start, item.attributes[-1].span.end)
        return [before, *_layout(replace(item, attributes=(), span=item.declaration), comments)]
    start, end = item.span.start, item.span.end
    single = Line(print_line(item), start, end)
    inside = bisect_right(comments, start), bisect_left(comments, end)
    if isinstance(item, tree.Fold) or (isinstance(item, tree.Function) and _is_long(item.body)):
        return list(_broken(item))
    if len(single.text) <= WIDTH and inside[0] == inside[1]:
        return [single]
    *others, last = _broken(item)
    if len(single.text) <= WIDTH and inside[0] == bisect_left(comments, last.start):
        return [single]
    return [*others, replace(last, end=end)]


def _broken(item: tree.Item) -> Iterator[Line]:
    """The lines of an item with one line per part."""
    start, end = item.span.start, item.span.end
    match item:
        case tree.Relation(columns=columns, key=key):
            yield Line(_opening(item), start, item.name_span.end)
            if item.row is not None:
                yield _line(print_type(item.row), item.row.span)
            for column, comma in _separated(columns, ",", ""):
                yield _line(print_column(column) + comma, column.span)
            yield Line(_ending(item), key[0].span.start if key else end - 1, end, INDENT)
        case tree.Alias() | tree.Module() | tree.Import() | tree.Prefix() | tree.Index():
            yield Line(print_line(item), start, end)
        case tree.TypeDefinition(constructors=(only,)):
            yield Line(f"{_opening(item)} {written_relation(only.name)}{{", start, only.name_span.end)
            for field, comma in _separated(only.fields, ",", ""):
                yield _line(print_column(field) + comma, field.span)
            yield Line("}", end - 1, end, INDENT)
        case tree.TypeDefinition(constructors=constructors):
            yield Line(_opening(item), start, item.name_span.end)
            for number, text in enumerate(_constructors(constructors)):
                yield _line(f"{'| ' if number else ''}{text}", constructors[number].span)
        case tree.Function(result=result, body=body):
            yield Line(_opening(item), start, result.span.end)
            yield from _steps(body, INDENT)
            yield Line("}", end - 1, end, INDENT)
        case tree.Fold(result=result):
            yield Line(_opening(item), start, result.span.end)
            yield from _fold(item)
            yield Line("}", end - 1, end, INDENT)
        case tree.Rule(heads, body):
            yield from _literals(heads, "", " :-" if body else ".")
            for literal, comma in _separated(body, ",", "."):
                yield from _literal(literal, INDENT, comma)
        case tree.RuleLoop():
            yield from _parts_of(item, "", "", ".")
        case _:
            assert_never(item)


def _fold(item: tree.Fold) -> Iterator[Line]:
    """The lines between the braces of an aggregate with a state."""
    for binding in item.state:
        yield from _statement(binding, INDENT)
    for word, body in (("insert", item.insert), ("delete", item.delete)):
        if body is not None:
            yield from _joined([(f"{word} ", body)], INDENT, "")
    yield from _steps(item.value, INDENT)


# -- statements


def _is_long(body: tree.Block | tree.Steps) -> bool:
    """Whether the body of a function has so many statements that it is never one line."""
    if isinstance(body, tree.Block):
        return False
    return _size(body) > _FEW


def _size(body: tree.Expr) -> int:
    """The statements of a block, with those inside them, and its result."""
    if not isinstance(body, tree.Steps):
        return 0
    parts = [*body.statements, *([] if body.result is None else [body.result])]
    return len(parts) + sum(_size(inner) for part in parts for _, inner in _blocks(part))


def _steps(body: tree.Block | tree.Steps, indent: str) -> Iterator[Line]:
    """The lines between the braces of a block."""
    for statement in body.bindings if isinstance(body, tree.Block) else body.statements:
        yield from _statement(statement, indent)
    if body.result is not None:
        yield from _statement(body.result, indent)


def _statement(statement: tree.Statement | tree.Expr, indent: str) -> Iterator[Line]:
    """The lines of a statement or result: one, if it fits and no block in it has more than one other."""
    if isinstance(statement, tree.Statement):
        text = print_statement(statement)
    else:
        text = print_expression(statement)
    blocks = list(_blocks(statement))
    if not blocks or (len(indent) + len(text) <= WIDTH and max(_size(body) for _, body in blocks) <= 1):
        yield _line(text, statement.span, indent)
    elif isinstance(statement, tree.Switch | tree.Match):
        start, end = statement.span.start, statement.span.end
        opening = f"match ({print_expression(statement.subject)}) {{"
        yield Line(indent + opening, start, statement.subject.span.end, indent)
        for block, comma in _separated(blocks, ",", ""):
            yield from _joined([block], indent + INDENT, comma)
        yield Line(f"{indent}}}", end - 1, end, indent + INDENT)
    else:
        yield from _joined(blocks, indent, "")


def _joined(blocks: Sequence[tuple[str, tree.Expr]], indent: str, suffix: str) -> Iterator[Line]:
    """Blocks and values, each with what comes before it, joined by `else`."""
    line, start = "", -1
    for number, (opening, body) in enumerate(blocks):
        line += f"{' else ' if number else ''}{opening}"
        start = body.span.start if start < 0 else start
        if isinstance(body, _BLOCK):
            yield Line(f"{indent}{line}{{", start, body.span.start + 1, indent)
            yield from _steps(body, indent + INDENT)
            line, start = "}", body.span.end - 1
        else:
            line += print_expression(body)
    yield Line(f"{indent}{line}{suffix}", start, blocks[-1][1].span.end, indent + INDENT)


def _blocks(statement: tree.Statement | tree.Expr) -> Iterator[tuple[str, tree.Expr]]:
    """The blocks of a statement, or the values of a result with blocks, and what comes before each."""
    match statement:
        case tree.Choice(branches, otherwise):
            yield from ((f"{print_condition(b)} ", b.body) for b in branches)
            if otherwise is not None:
                yield "", otherwise
        case tree.Switch(arms=arms):
            yield from ((f"{print_expression(a.pattern, UNARY)} -> ", a.body) for a in arms)
        case tree.Loop(body=body):
            yield f"{print_opening(statement)} ", body
        case tree.Match(cases=cases) if any(isinstance(case.value, _BLOCK) for case in cases):
            yield from ((f"{print_expression(c.pattern, UNARY)} -> ", c.value) for c in cases)
        case tree.Conditional():
            rows = list(conditionals(statement))
            values = [*(row.then for row in rows), rows[-1].otherwise]
            if any(isinstance(value, _BLOCK) for value in values):
                openings = (f"if ({print_expression(row.condition)}) " for row in rows)
                yield from zip([*openings, ""], values, strict=True)
        case _:
            return


def _line(text: str, span: Span, indent: str = INDENT) -> Line:
    return Line(indent + text, span.start, span.end, indent)


def _literals(literals: Sequence[tree.Literal], indent: str, suffix: str) -> Iterator[Line]:
    """The literals, on one line if they fit."""
    text = print_literals(literals) + suffix
    if len(indent) + len(text) <= WIDTH:
        yield _line(text, literals[0].span.to(literals[-1].span), indent)
        return
    for literal, comma in _separated(literals, ",", suffix):
        yield from _literal(literal, indent, comma)


def _literal(literal: tree.Literal, indent: str, suffix: str, before: str = "") -> Iterator[Line]:
    text = before + print_literal(literal) + suffix
    opening = _literal_opening(literal)
    if len(indent) + len(text) <= WIDTH or opening is None:
        yield _line(text, literal.span, indent)
        return
    start, end = literal.span.start, literal.span.end
    yield Line(indent + before + opening, start, start + 1, indent)
    yield from _inside(literal, indent + INDENT)
    closing = _CLOSING[opening[-1]]
    yield Line(f"{indent}{closing}{suffix}", end - 1, end, indent + INDENT)


def _literal_opening(literal: tree.Literal) -> str | None:
    """The first line of a literal that has lines inside it."""
    match literal:
        case tree.Atom(is_whole=is_whole):
            return f"{print_version(literal)}{'[' if is_whole else '('}"
        case tree.Negation(atom):
            return f"not {_literal_opening(atom)}"
        case tree.Row(name, atom):
            return f"{written_variable(name)} in {_literal_opening(atom)}"
        case tree.Disjunction():
            return "("
        case tree.NegatedBody():
            return "not ("
        case tree.Assignment(value=tree.SubAggregate() as value):
            return f"{print_binding(literal)} = {print_aggregate(value)} {{"
        case tree.Destructuring(value=tree.SubAggregate() as value):
            return f"{print_binding(literal)} = {print_aggregate(value)} {{"
        case tree.Condition() | tree.Assignment() | tree.Destructuring() | tree.Generator():
            return None
        case _:
            assert_never(literal)


def _inside(literal: tree.Literal, indent: str) -> Iterator[Line]:
    """The lines between the parentheses or braces of a literal."""
    match literal:
        case tree.Negation(atom) | tree.Row(atom=atom):
            yield from _inside(atom, indent)
        case tree.Atom(args=args):
            for argument, comma in _separated(args, ",", ""):
                yield _line(print_argument(argument) + comma, argument.span, indent)
        case tree.Disjunction(alternatives) | tree.NegatedBody(alternatives):
            yield from _alternatives(alternatives, indent)
        case tree.Assignment(value=value) | tree.Destructuring(value=value):
            assert isinstance(value, tree.SubAggregate)
            yield from _alternatives(value.alternatives, indent)
        case tree.Condition() | tree.Generator():
            raise AssertionError(f"{literal!r} is one line")
        case _:
            assert_never(literal)


def _alternatives(alternatives: Sequence[Sequence[tree.Literal]], indent: str) -> Iterator[Line]:
    for alternative, semicolon in _separated(alternatives, ";", ""):
        yield from _literals(alternative, indent, semicolon)


# -- statements


def _rule_statement(
    statement: tree.RuleStatement | tree.Assignment | tree.Destructuring, indent: str, before: str, after: str
) -> Iterator[Line]:
    """A statement, on one line if it fits; `after` is what ends it, unless a brace does."""
    text = print_rule_statement(statement)
    whole = f"{before}{text}{'' if text.endswith('}') and after != ',' else after}"
    if len(indent) + len(whole) <= WIDTH or isinstance(statement, tree.Assignment | tree.Destructuring):
        yield _line(whole, statement.span, indent)
    elif isinstance(statement, tree.Atom):
        yield from _literal(statement, indent, after, before)
    else:
        yield from _parts_of(statement, indent, before, after)


def _parts_of(
    statement: tree.RuleLoop | tree.RuleIf | tree.RuleSwitch | tree.RuleSequence,
    indent: str,
    before: str,
    after: str,
) -> Iterator[Line]:
    """The lines of a statement that has statements inside it."""
    start, end = statement.span.start, statement.span.end
    match statement:
        case tree.RuleLoop(body=body):
            yield from _with_body(f"{before}{print_rule_opening(statement)}", start, body, indent, after)
        case tree.RuleIf(then=then, otherwise=otherwise):
            ending = after if otherwise is None else ""
            yield from _with_body(f"{before}{print_rule_opening(statement)}", start, then, indent, ending)
            if otherwise is not None:
                yield from _with_body("else", otherwise.span.start, otherwise, indent, after)
        case tree.RuleSwitch(branches=branches):
            yield Line(f"{indent}{before}{print_rule_opening(statement)} {{", start, start, indent)
            for branch, comma in _separated(branches, ",", ""):
                pattern = f"{print_expression(branch.pattern)} -> "
                yield from _rule_statement(branch.body, indent + INDENT, pattern, comma)
            yield Line(f"{indent}}}{after if after == ',' else ''}", end - 1, end, indent + INDENT)
        case tree.RuleSequence(parts):
            yield Line(f"{indent}{before}{{", start, start, indent)
            for part in parts:
                yield from _rule_statement(part, indent + INDENT, "", ";")
            yield Line(f"{indent}}}{after if after == ',' else ''}", end - 1, end, indent + INDENT)
        case _:
            assert_never(statement)


def _with_body(opening: str, start: int, body: tree.RuleStatement, indent: str, after: str) -> Iterator[Line]:
    """What begins a statement, and the statement inside it, in braces or on the next lines."""
    if isinstance(body, tree.RuleSequence) and body.parts:
        yield from _parts_of(
            replace(body, span=Span(body.span.source, start, body.span.end)), indent, f"{opening} ", after
        )
    else:
        yield Line(f"{indent}{opening}", start, start, indent)
        yield from _rule_statement(body, indent + INDENT, "", after)


def _opening(item: tree.Relation | tree.TypeDefinition | tree.Function | tree.Fold) -> str:
    match item:
        case tree.Relation(role, name):
            kind = item.kind or "relation"
            return f"{role} {kind} {written_relation(name)}{'(' if item.row is None else '['}".lstrip()
        case tree.TypeDefinition(name, parameters):
            return f"typedef {written_type(name)}{print_parameters(parameters)} ="
        case tree.Function(name, parameters, result) | tree.Fold(name, parameters, result):
            word = "aggregate" if isinstance(item, tree.Fold) else "function"
            types = print_parameters(item.type_parameters)
            given = ", ".join(map(print_column, parameters))
            return f"{word} {written_function(name)}{types}({given}): {print_type(result)} {{"
        case _:
            assert_never(item)


def _constructors(constructors: Sequence[tree.Constructor]) -> Iterator[str]:
    """The constructors of a type. Without fields, a lone one needs braces: it would be the name of a type."""
    for constructor in constructors:
        fields = ", ".join(map(print_column, constructor.fields))
        is_bare = not fields and len(constructors) > 1
        name = written_relation(constructor.name)
        yield name if is_bare else f"{name}{{{fields}}}"


def _attributes(item: tree.Relation) -> str:
    given = (f"{written_column(a.name)} = {print_expression(a.value)}" for a in item.attributes)
    return f"#[{', '.join(given)}]"


def _columns(columns: Sequence[tree.Column], row: tree.TypeName | None) -> str:
    return ", ".join(map(print_column, columns)) if row is None else print_type(row)


def _ending(item: tree.Relation) -> str:
    closing = ")" if item.row is None else "]"
    if item.key is None:
        return closing
    return f"{closing} primary key ({', '.join(written_column(k.name) for k in item.key)})"


def _separated(parts: Sequence[_T], separator: str, last: str) -> Iterator[tuple[_T, str]]:
    """Each part with the separator that follows it."""
    for number, part in enumerate(parts, start=1):
        yield part, separator if number < len(parts) else last
