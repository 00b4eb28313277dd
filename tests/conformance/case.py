"""Golden cases: a folder with a program, facts, steps, and what holds after each commit.

    program.dl        the program to start with
    facts/R.csv       asserted facts of R, with a header; an empty cell of an option is none
    steps             one change a line, `+ item` or `- item`, an item being a fact (asserted, not loaded), a
                      rule or a declaration; `commit` ends a step; `fails TEXT` ends one that must be refused
                      with an error that contains TEXT, and leaves everything as it was
    expected/N.dl     the contents of all output relations after commit N; 0 is the first load

The same expectation holds for every engine and strategy.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidelog.data import types
from tidelog.data.structs import FrozenMap, Struct
from tidelog.data.values import Row, Value, from_text, order_key
from tidelog.data.zset import ZSet
from tidelog.program.declared import Relation, RelationKind, Role
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program
from tidelog.program.text import constant_tree
from tidelog.reference.evaluate import Failure, evaluate
from tidelog.syntax import tree
from tidelog.syntax.printer import print_line

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Commit:
    """A program and a change of facts to commit; `fails` is part of the error it must end in."""

    program: Program
    facts: Mapping[str, ZSet[Row]]
    fails: str | None = None


@dataclass(frozen=True)
class Case:
    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def commits(self) -> Iterator[Commit]:
        """The first load, then what each step asks for."""
        program = load((self.folder / "program.dl").read_text(), f"{self.name}/program.dl")
        yield Commit(program, {r.name: self._asserted(r) for r in program.relations.values()})
        lines = self._steps()
        while lines:
            end = next(i for i, line in enumerate(lines) if line.split()[0] in ("commit", "fails"))
            commit = _step(program, lines[:end], lines[end])
            yield commit
            program = program if commit.fails else commit.program
            lines = lines[end + 1 :]

    def _steps(self) -> list[str]:
        path = self.folder / "steps"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.strip() and not line.startswith("//")]

    def _asserted(self, relation: Relation) -> ZSet[Row]:
        if relation.kind is RelationKind.SET:
            return ZSet.of(self._given(relation))
        return ZSet((row, 1) for row in self._given(relation))

    def _given(self, relation: Relation) -> Iterator[Row]:
        path = self.folder / "facts" / f"{relation.name}.csv"
        if not path.exists():
            return
        with path.open(newline="") as file:
            for record in csv.DictReader(file):
                yield tuple(_cell(record[c.name], c.type) for c in relation.columns)

    def expected(self, number: int) -> str:
        return (self.folder / "expected" / f"{number}.dl").read_text()


def _cell(text: str, type_: types.Type) -> Value:
    return None if text == "" and isinstance(type_, types.Option) else from_text(type_, text)


def _step(program: Program, lines: list[str], end: str) -> Commit:
    draft = Draft(program)
    facts: dict[str, ZSet[Row]] = {}
    for line in lines:
        sign, item = line[0], line[1:].strip()
        assert sign in "+-", f"a step starts with + or -: {line!r}"
        row = _fact(draft, item)
        if row is not None:
            relation, values = row
            change = ZSet({values: 1 if sign == "+" else -1})
            facts[relation] = facts.get(relation, ZSet()) + change
        elif sign == "+":
            draft.load(item)
        else:
            draft.remove_rule(item)
    return Commit(
        draft.finish(), facts, end.removeprefix("fails").strip() if end.startswith("fails") else None
    )


def _fact(draft: Draft, item: str) -> tuple[str, Row] | None:
    """The row of a fact; None for a rule or a declaration."""
    rules = draft.copy().load(item)
    if len(rules) != 1 or not rules[0].is_fact:
        return None
    head = rules[0].heads[0]
    values = [evaluate(v, {}, {}) for v in head.values]
    assert not any(isinstance(v, Failure) for v in values)
    return head.relation, tuple(v for v in values if not isinstance(v, Failure))


def show_outputs(program: Program, contents: Mapping[str, Iterable[Row]]) -> str:
    """The rows of all output relations as facts, sorted, one a line."""
    lines: list[str] = []
    for relation in program.relations.values():
        if relation.role is Role.OUTPUT:
            lines += sorted(show_fact(relation, row) for row in contents.get(relation.name, ()))
    return "".join(f"{line}\n" for line in lines)


def show_fact(relation: Relation, row: Row) -> str:
    values = (_tree(t, v) for t, v in zip(relation.types, row, strict=True))
    atom = tree.Atom(relation.name, tuple(tree.Argument(v) for v in values))
    return print_line(tree.Rule((atom,)))


def _tree(type_: types.Type, value: Value, *, inside: bool = False) -> tree.Expr:
    """A value as the language writes it; numbers inside of others have the type that is expected there."""
    match types.present(type_), value:
        case types.Tuple(items), tuple():
            return tree.TupleValue(_trees(items, value))
        case types.Vec(item), tuple():
            return tree.VecLiteral(_trees([item] * len(value), value))
        case types.Set(item), frozenset():
            listed = sorted(value, key=lambda v: order_key(item, v))
            return tree.Call("to_set", (tree.VecLiteral(_trees([item] * len(listed), listed)),))
        case types.Map(key, held), FrozenMap():
            entries = ((_tree(key, k, inside=True), _tree(held, v, inside=True)) for k, v in value.items())
            return tree.MapLiteral(tuple(entries)) if value else tree.Call("to_map", (tree.VecLiteral(()),))
        case types.Named() as named, Struct():
            fields = [f.type for f in named.constructor(value._tag).fields]
            parts = _trees(fields, tuple(value._asdict().values()))
            is_bare = not fields and len(named.constructors) > 1
            return tree.Construct(value._tag, tuple(map(tree.Argument, parts)), is_bare=is_bare)
    written = constant_tree(type_, value)
    is_number = isinstance(written, tree.Cast) and not isinstance(written.operand, tree.StringLiteral)
    return written.operand if inside and is_number and isinstance(written, tree.Cast) else written


def _trees(items: Sequence[types.Type], values: Sequence[Value]) -> tuple[tree.Expr, ...]:
    return tuple(_tree(t, v, inside=True) for t, v in zip(items, values, strict=True))


def cases(folder: Path = CASES) -> list[Case]:
    return [Case(inner) for inner in sorted(folder.iterdir()) if (inner / "program.dl").exists()]
