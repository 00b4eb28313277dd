"""What ranks, counts and weights have to be, counted from scratch in plain Python over decoded rows.

An instance of a flat rule is a row for each positive atom that makes the rest of the body true. It supports
its head if its rows of the head's own unit all rank below it; an assertion is one more support. A tuple that
is not marked as having had others has no instance but its supports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from conformance.reasoners import LocalReasoner
from tidelog.data.values import Row, Value
from tidelog.engine.local.kernels.layout import ALIVE, INSTANCE, OLD, OTHERS, UNSETTLED
from tidelog.engine.local.storage.index import Buckets
from tidelog.engine.local.storage.table import Table
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.typed import Absent, Bind, Constant, Each, Match, Term, Test, Var
from tidelog.reference.evaluate import Failure, Functions, evaluate
from tidelog.reference.structures import items_of

Names = dict[str, Value]
Weights = dict[tuple[str, Row, int], int]


@dataclass
class Known:
    """A relation as it is stored: rank and count of each tuple, the asserted ones, and those with others."""

    support: dict[Row, tuple[int, int]] = field(default_factory=dict)
    others: set[Row] = field(default_factory=set)
    given: set[Row] = field(default_factory=set)


def check_state(reasoner: LocalReasoner) -> None:
    """Every count is the number of supports, and every table finds what it holds."""
    flat = reasoner.flat
    for table in reasoner.engine.tables.values():
        check_table(table)
    state = {name: _read(reasoner, name) for name in flat.relations}
    for stratum in flat.strata:
        if any(reasoner.engine.tables[name].trace is not None for name in stratum.relations):
            _check_traces(reasoner, stratum, state)
        elif stratum.grouping is None and not stratum.relations & reasoner.engine.dense.bits.keys():
            _check_unit(stratum, state, flat.functions)
            for name in stratum.relations:
                table = reasoner.engine.tables[name]
                ranks = [rank for rank, _ in state[name].support.values() if rank != UNSETTLED]
                assert all(0 <= rank <= table.highest for rank in ranks), name
                assert table.unsettled or len(ranks) == len(state[name].support)


def _read(reasoner: LocalReasoner, name: str) -> Known:
    table = reasoner.engine.tables[name]
    rows = reasoner.decode(reasoner.flat.relations[name].types, table.codes())
    made = Known()
    if name in reasoner.engine.dense.bits:  # a matrix counts nothing
        types = reasoner.flat.relations[name].types
        made.support = dict.fromkeys(reasoner.decode(types, reasoner.engine.rows(name)), (0, 1))
    for i, row in enumerate(rows):
        if table.tags[i]:
            rank, word = map(int, table.support[i])
            if word & OTHERS:
                made.others.add(row)
            made.support[row] = rank, word // INSTANCE
        if table.given[i]:
            made.given.add(row)
    return made


def _check_unit(stratum: Stratum, state: Mapping[str, Known], functions: Functions) -> None:
    counts: Counter[tuple[str, Row]] = Counter()
    others: set[tuple[str, Row]] = set()
    for name in stratum.relations:
        counts.update((name, row) for row in state[name].given)
    best = dict(stratum.best)
    counts = Counter({(name, row): n for (name, row), n in counts.items() if row in state[name].support})
    for rule in stratum.rules:
        for head, used in instances(rule, state, functions):
            if head not in state[rule.head].support:
                assert rule.head in best, f"{rule.head}{head} follows and is not there"
                continue  # a worse value
            rank = state[rule.head].support[head][0]
            own = [state[name].support[row][0] for name, row in used if name in stratum.relations]
            if all(below < rank for below in own):
                counts[rule.head, head] += 1
            else:
                others.add((rule.head, head))
    stored = {
        (name, row): count for name in stratum.relations for row, (_, count) in state[name].support.items()
    }
    ranks = {(name, row): state[name].support[row][0] for name, row in stored}
    assert all(count > 0 for key, count in stored.items() if ranks[key] != UNSETTLED)
    found = {key: 0 if ranks[key] == UNSETTLED else counts[key] for key in stored}
    assert stored == found, stratum.name
    marked = {(name, row) for name in stratum.relations for row in state[name].others}
    assert best or others <= marked, stratum.name


# -- traces


def stored_weights(reasoner: LocalReasoner, stratum: Stratum) -> Weights:
    """The weights that the traces of a unit hold, by tuple and iteration."""
    made: Weights = {}
    for name in stratum.relations:
        table = reasoner.engine.tables[name]
        assert table.trace is not None
        assert table.trace.waiting == 0
        rows = reasoner.decode(reasoner.flat.relations[name].types, table.codes())
        for row, iteration, weight in table.trace.entries.tolist():
            if weight:
                assert (name, rows[row], iteration) not in made
                made[name, rows[row], iteration] = weight
    return made


def _counted_weights(stratum: Stratum, state: Mapping[str, Known], functions: Functions) -> Weights:
    """The instances of a unit's rules, by head and by the iteration after the latest of their own tuples."""
    made: Counter[tuple[str, Row, int]] = Counter()
    for name in stratum.relations:
        made.update((name, row, 0) for row in state[name].given)
    for rule in stratum.rules:
        for head, used in instances(rule, state, functions):
            own = [state[name].support[row][0] for name, row in used if name in stratum.relations]
            made[rule.head, head, 1 + max(own, default=-1)] += 1
    return dict(made)


def _check_traces(reasoner: LocalReasoner, stratum: Stratum, state: Mapping[str, Known]) -> None:
    """Weights are the numbers of derivations, and a tuple comes at the first iteration that has one."""
    weights = stored_weights(reasoner, stratum)
    assert weights == _counted_weights(stratum, state, reasoner.flat.functions), stratum.name
    first: dict[tuple[str, Row], int] = {}
    for name, row, iteration in weights:
        first[name, row] = min(iteration, first.get((name, row), iteration))
    ranks = {(name, row): r for name in stratum.relations for row, (r, _) in state[name].support.items()}
    assert first == ranks, stratum.name


# -- instances


def instances(
    rule: FlatRule, state: Mapping[str, Known], functions: Functions
) -> Iterator[tuple[Row, list[tuple[str, Row]]]]:
    """The head and the rows used of every instance."""
    atoms = [x for x in rule.body if isinstance(x, Match)]
    partial: list[tuple[Names, list[tuple[str, Row]]]] = [({}, [])]
    for atom in atoms:
        partial = [
            (extended, [*used, (atom.relation, row)])
            for names, used in partial
            for row in state[atom.relation].support
            if (extended := match(atom.terms, row, names)) is not None
        ]
    for matched, used in partial:
        for names in bound(rule, matched, functions):
            if holds(rule, names, state, functions):
                head = tuple(evaluate(v, names, functions) for v in rule.values)
                assert not any(isinstance(v, Failure) for v in head)
                yield tuple(v for v in head if not isinstance(v, Failure)), used


def bound(rule: FlatRule, matched: Names, functions: Functions) -> list[Names]:
    """The names extended by assignments, and by each item of a generator; none where one fails."""
    found = [dict(matched)]
    for literal in rule.body:
        if not isinstance(literal, Bind | Each):
            continue
        longer: list[Names] = []
        for names in found:
            expr = literal.value if isinstance(literal, Bind) else literal.collection
            value = evaluate(expr, names, functions)
            if isinstance(value, Failure):
                continue
            values = [value] if isinstance(literal, Bind) else items_of(expr.type, value)
            longer += [
                extended
                for item in values
                if (extended := match((literal.variable,), (item,), names)) is not None
            ]
        found = longer
    return found


def match(terms: tuple[Term, ...], row: Row, names: Names) -> Names | None:
    """The names extended so that the terms are the row; none equals nothing, not even itself."""
    extended = dict(names)
    for term, value in zip(terms, row, strict=True):
        match term:
            case Constant():
                wanted = term.value
            case Var(name) if name in extended:
                wanted = extended[name]
            case Var(name):
                extended[name] = value
                continue
            case _:
                continue
        if value is None or not (value is wanted or value == wanted):
            return None
    return extended


def holds(rule: FlatRule, names: Names, state: Mapping[str, Known], functions: Functions) -> bool:
    """Whether the rest of a body holds."""
    for literal in rule.body:
        if isinstance(literal, Test) and evaluate(literal.condition, names, functions) is not True:
            return False
        if isinstance(literal, Absent):
            rows = state[literal.relation].support
            if any(match(literal.terms, row, names) is not None for row in rows):
                return False
    return True


# -- tables


def check_table(table: Table) -> None:
    """Between commits: two kinds of tags, an honest number of live rows, and every row can be found."""
    tags = table.tags[: table.rows]
    assert set(tags.tolist()) <= {0, ALIVE | OLD}
    alive = table.alive()
    assert table.live == len(alive)
    assert table.find(table.codes()).tolist() == list(range(table.rows))
    for columns in table.indexes:
        _check_index(table, columns, table.index(columns))
    for columns, order in table.orders.items():
        rows = order.order[: order.covered].tolist()
        assert sorted(rows) == list(range(order.covered))
        keys = table.codes(rows)[:, columns].tolist()
        assert keys == sorted(keys)


def _check_index(table: Table, columns: tuple[int, ...], index: Buckets) -> None:
    """Every row is in one bucket or chain, and rows with one key are together in each of the two."""
    older, starts = len(index.grouped), index.starts.tolist()
    buckets = {
        int(row): number
        for number, (first, last) in enumerate(pairwise(starts))
        for row in index.grouped[first:last]
    }
    assert sorted(buckets) == list(range(older))
    chains: dict[int, int] = {}
    for number, head in enumerate(index.heads.tolist()):
        row = head
        while row >= 0:
            assert row not in chains
            chains[row] = number
            row = int(index.following[row - older])
    assert sorted(chains) == list(range(older, table.rows))
    for places in (buckets, chains):
        homes: dict[tuple[int, ...], int] = {}
        for row, number in places.items():
            key = tuple(table.data[row, list(columns)].tolist())
            assert homes.setdefault(key, number) == number
