"""Recursive `sum` and `count`, in the most obvious way.

*In order*: find all groups and what each depends on, without the conditions that test totals. If a group
depends on itself, that is an error. Otherwise give each group a level above those of the groups it depends
on, and evaluate level by level: derive everything from the levels below, and keep the rows of this level.

*The least result*, for the threshold form: begin with no rows, and replace them by what follows from them
until nothing changes. A negative contribution ends this; then the groups must have an order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from tidelog.data.types import is_number
from tidelog.data.values import Row, order_key
from tidelog.errors import EngineError
from tidelog.program.analysis.totals import contributions, group_columns, groups_of, rule_of_groups
from tidelog.program.model import Program
from tidelog.program.text import print_value
from tidelog.program.typed import Constant, Head, Rule, Stratum, Totals
from tidelog.reference.aggregates import aggregate
from tidelog.reference.evaluate import Failure
from tidelog.reference.facts import Facts

__all__ = ["TotalsRun"]

Fact: TypeAlias = tuple[str, Row]
Group: TypeAlias = tuple[str, Row]  # a relation, and the columns of its rows that do not depend on totals


class Deriving(Protocol):
    """Finds what rules derive from facts."""

    def fixpoint(self) -> None:
        """Add everything that follows."""
        ...

    def derived(self) -> list[Fact]:
        """The heads of all instances, one for each instance."""
        ...


class TotalsRun:
    """A stratum with totals. `deriving` evaluates a stratum without totals on the same facts."""

    def __init__(
        self,
        program: Program,
        stratum: Stratum,
        facts: Facts,
        deriving: Callable[[Stratum], Deriving],
        check_rounds: Callable[[int], None],
    ) -> None:
        assert stratum.totals is not None
        self._program = program
        self._facts = facts
        self._deriving = deriving
        self._check_rounds = check_rounds
        self._names = sorted(stratum.relations)
        self._totals: Totals = stratum.totals
        self._kept = dict(stratum.totals.kept)
        self._aggregated = dict(stratum.totals.aggregated)
        self._given = [(name, row) for name in self._names for row in facts.rows[name]]
        rules = tuple(rule for r in stratum.rules for rule in self._rules_of(r))
        self._stratum = Stratum(stratum.relations, rules, recursive=True)

    def run(self) -> None:
        self._replace({})
        negative = self._least() if self._totals.is_threshold else ""
        if negative is not None:
            self._replace({})
            self._in_order(negative)

    def _rules_of(self, rule: Rule) -> Iterable[Rule]:
        """The rule for each of its heads, with contributions in place of totals."""
        for head in (h for h in rule.heads if h.relation in self._aggregated):
            if head.relation in self._kept:
                yield Rule(rule.id, (head,), contributions(rule), None, ((),), rule.span)
            else:
                yield Rule(rule.id, (head,), rule.bodies, rule.group, rule.after, rule.span)

    # -- rows

    def _replace(self, rows: Mapping[str, set[Row]]) -> None:
        for name in self._names:
            for row in tuple(self._facts.rows[name]):
                self._facts.discard(name, row)
            for row in rows.get(name, ()):
                self._facts.add(name, row)

    def _found(self) -> list[Fact]:
        """Contributions and rows: those of asserted facts, and of all instances over the current rows."""
        return [*self._given, *self._deriving(self._stratum).derived()]

    def _rows(self, found: Iterable[Fact]) -> dict[str, set[Row]]:
        """The rows that contributions add up to, and the other rows."""
        rows: defaultdict[str, set[Row]] = defaultdict(set)
        parts: defaultdict[Fact, list[Row]] = defaultdict(list)
        for name, row in found:
            if name not in self._kept:
                rows[name].add(row)
                continue
            column = self._kept[name].column
            parts[name, row[:column] + row[column + 1 :]].append((row[column],))
        for (name, key), values in parts.items():
            column = self._kept[name].column
            type_ = self._program.relations[name].columns[column].type
            total = aggregate("sum", values, (type_,), type_)
            if isinstance(total, Failure):
                shown = self._shown(name, key, [i for i in range(len(key) + 1) if i != column])
                raise EngineError(f"{total.reason}, in the total of {shown}")
            rows[name].add((*key[:column], total, *key[column:]))
        return rows

    def _shown(self, name: str, key: Row, columns: Iterable[int]) -> str:
        types = [self._program.relations[name].columns[i].type for i in columns]
        return f"{name}({', '.join(print_value(Constant(v, t)) for v, t in zip(key, types, strict=True))})"

    # -- the least result

    def _least(self) -> str | None:
        """Find the least result; returns a negative contribution if there is one, as text."""
        rows: dict[str, set[Row]] = {}
        rounds = 0
        while True:
            rounds += 1
            self._check_rounds(rounds)
            found = self._found()
            negative = next((f for f in found if self._is_negative(*f)), None)
            if negative is not None:
                name, row = negative
                return f"the contribution {self._shown(name, row, range(len(row)))} is negative, and "
            following = self._rows(found)
            if following == rows:
                return None
            self._replace(following)
            rows = following

    def _is_negative(self, name: str, row: Row) -> bool:
        if name not in self._kept:
            return False
        column = self._kept[name].column
        type_ = self._program.relations[name].columns[column].type
        assert is_number(type_)
        value = row[column]
        return value == value and value < 0  # type: ignore[operator]  # NaN is the largest value

    # -- in order

    def _in_order(self, reason: str) -> None:
        levels = self._levels(self._dependencies(), reason)
        for level in range(max(levels.values(), default=-1) + 1):
            self._check_rounds(level + 1)
            now = [fact for fact in self._found() if levels[self._group(*fact)] == level]
            for name, rows in self._rows(now).items():
                for row in rows:
                    self._facts.add(name, row)

    def _group(self, name: str, row: Row) -> Group:
        return name, tuple(row[i] for i in group_columns(len(row), self._aggregated[name]))

    def _groups(self, name: str) -> str:
        return groups_of(name, self._aggregated[name])

    def _dependencies(self) -> dict[Group, set[Group]]:
        """Every group, with those that it depends on."""
        hidden = {self._groups(name): name for name in self._names}
        rules: list[Rule] = []
        edges: list[Rule] = []
        pairs: dict[str, tuple[str, str, int]] = {}
        for rule in self._stratum.rules:
            (head,) = rule.heads
            start, bodies = (rule.bodies, rule.after) if rule.group else ((), rule.bodies)
            for body in bodies:
                made = rule_of_groups(
                    head.relation, head.values, body, self._aggregated, self._program.relations
                )
                own = (start or (made.body,), rule.group, (made.body,) if rule.group else ((),))
                rules.append(Rule("", (Head(self._groups(head.relation), made.head),), *own))
                for read, terms in made.reads:
                    name = f"{head.relation} after {read}"
                    pairs[name] = head.relation, read, len(made.head)
                    edges.append(Rule("", (Head(name, (*made.head, *terms)),), *own))  # type: ignore[arg-type]
        for fact in self._given:
            self._facts.add(self._groups(fact[0]), self._group(*fact)[1])
        self._deriving(Stratum(frozenset(hidden), tuple(rules), recursive=True)).fixpoint()
        found = self._deriving(Stratum(frozenset(pairs), tuple(edges), recursive=False)).derived()
        depends: dict[Group, set[Group]] = {
            (name, key): set() for groups, name in hidden.items() for key in self._facts.rows.pop(groups, ())
        }
        for edge, row in found:
            above, below, size = pairs[edge]
            depends[above, row[:size]].add((below, row[size:]))
        return depends

    def _levels(self, depends: Mapping[Group, set[Group]], reason: str) -> dict[Group, int]:
        """The level of each group. Raises EngineError if a group depends on itself."""
        levels: dict[Group, int] = {}
        waiting = dict(depends)
        while waiting:
            ready = [group for group, below in waiting.items() if below <= levels.keys()]
            if not ready:
                raise EngineError(f"{reason}a total depends on itself: {self._cycle(waiting)}")
            number = max(levels.values(), default=-1) + 1
            for group in ready:
                levels[group] = number
                del waiting[group]
        return levels

    def _cycle(self, waiting: Mapping[Group, set[Group]]) -> str:
        """A cycle among groups that all wait for another one of them."""
        group = min(waiting, key=self._order)
        path: dict[Group, None] = {}
        while group not in path:
            path[group] = None
            group = min((g for g in waiting[group] if g in waiting), key=self._order)
        cycle = [*list(path)[list(path).index(group) :], group]
        return " depends on ".join(self._shown(n, k, self._columns(n)) for n, k in cycle)

    def _columns(self, name: str) -> tuple[int, ...]:
        return group_columns(len(self._program.relations[name].columns), self._aggregated[name])

    def _order(self, group: Group) -> tuple[object, ...]:
        name, key = group
        columns = self._program.relations[name].columns
        types = [columns[i].type for i in self._columns(name)]
        return (name, *(order_key(t, v) for t, v in zip(types, key, strict=True)))
