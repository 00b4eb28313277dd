"""The two main experiments of the papers.

*Shares*: a share of the facts is materialised, the rest is added and then deleted again; shares range from
nearly all to half. The smallest changes are measured first, so that a reasoner that exceeds the time limit
still has results. Short measurements are repeated within about a second; the shortest times count.

*Epochs*: a first load, then six small updates, a large one, four small and a large one; large updates are
those for which a bootstrap may be faster. `bootstrap` recomputes each time, `update` never does, and `switch`
chooses. All three store relations as rows, so that only the choice differs.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidelog.bench.cases import Case, Facts
from tidelog.bench.database import Database
from tidelog.bench.isolate import isolated_parts, peak_memory
from tidelog.bench.reasoners import Tables, make_reasoner

__all__ = ["Epoch", "Missing", "Share", "measure_epochs", "measure_shares"]

_EPOCHS: Final = ("load", *("small",) * 6, "large", *("small",) * 4, "large")
_SMALL, _LARGE = 0.001, 0.4  # of all facts
_SHORT: Final = 1.0  # seconds in which measurements are repeated
_MOST: Final = 4  # times
_FEW: Final = 100  # facts to warm up with
_SWITCHES: Final = {"update": math.inf, "switch": None}


@dataclass(frozen=True, slots=True)
class Share:
    """Seconds to materialise a share of the facts, to add the rest and to delete it again.

    `size` is the number of tuples with all facts, `left` that after the deletion, and `memory` the peak
    memory of the process in bytes.
    """

    data: str
    program: str
    reasoner: str
    share: float
    materialise: float
    add: float
    delete: float
    size: int
    left: int
    memory: int

    @property
    def seconds(self) -> float:
        return self.materialise + self.add + self.delete


@dataclass(frozen=True, slots=True)
class Epoch:
    """A commit of the second experiment; `how` names the strategies of the touched strata."""

    data: str
    program: str
    way: str
    number: int
    kind: str
    facts: int
    seconds: float
    how: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A reasoner or a way that stopped early, and why."""

    data: str
    program: str
    name: str
    why: str


# -- shares


def measure_shares(
    case: Case, reasoner: str, shares: Iterable[float], timeout: float, take: Callable[[Share], None]
) -> Missing | None:
    """Measure all shares in a separate process; each has `timeout` seconds."""
    prepare, work = partial(_prepare, case, reasoner), partial(_shares, case, reasoner, tuple(shares))
    why = isolated_parts(prepare, work, timeout, take)
    return None if why is None else Missing(case.data, case.program, reasoner, why)


def _shares(case: Case, reasoner: str, shares: tuple[float, ...], facts: Facts) -> Iterator[Share]:
    for share in shares:
        found = _share(case, facts, reasoner, share)
        for _ in range(min(_MOST, int(_SHORT / found.seconds))):
            found = _faster(found, _share(case, facts, reasoner, share))
        yield found


def _faster(one: Share, other: Share) -> Share:
    return replace(
        other,
        materialise=min(one.materialise, other.materialise),
        add=min(one.add, other.add),
        delete=min(one.delete, other.delete),
    )


def _share(case: Case, facts: Facts, name: str, share: float) -> Share:
    first, rest = _divide(facts.moving, share)
    reasoner = make_reasoner(name, facts.text)
    at_first, added = reasoner.prepare(_union(facts.always, first)), reasoner.prepare(rest)
    materialising = _seconds(lambda: reasoner.insert(at_first))
    adding = _seconds(lambda: reasoner.insert(added))
    size = reasoner.size()
    deleting = _seconds(lambda: reasoner.delete(added))
    return Share(
        case.data,
        case.program,
        name,
        share,
        materialising,
        adding,
        deleting,
        size,
        reasoner.size(),
        peak_memory(),
    )


def _seconds(work: Callable[[], object]) -> float:
    """The time of `work` in seconds; earlier garbage is collected first, outside the measurement."""
    gc.collect()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _prepare(case: Case, name: str) -> Facts:
    """The facts of a case, after a warm-up that loads compiled code by inserting and deleting some facts."""
    facts = case.make()
    reasoner = make_reasoner(name, facts.text)
    few = {relation: table.slice(0, _FEW) for relation, table in facts.moving.items()}
    half = {relation: table.slice(0, _FEW // 2) for relation, table in few.items()}
    reasoner.insert(reasoner.prepare(_union(facts.always, few)))
    reasoner.delete(reasoner.prepare(half))
    reasoner.insert(reasoner.prepare(half))
    return facts


# -- epochs


def measure_epochs(case: Case, way: str, timeout: float, take: Callable[[Epoch], None]) -> Missing | None:
    """Measure all commits in a separate process; each has `timeout` seconds."""
    why = isolated_parts(partial(_prepare, case, "elastic"), partial(_epochs, case, way), timeout, take)
    return None if why is None else Missing(case.data, case.program, way, why)


def _epochs(case: Case, way: str, facts: Facts) -> Iterator[Epoch]:
    strategy, switch = ("recompute", None) if way == "bootstrap" else ("elastic", _SWITCHES[way])
    db = Database(facts.text, strategy, switch, plain=True)
    for number, (kind, inserted, deleted) in enumerate(_schedule(facts)):
        begun = time.perf_counter()
        done = db.commit(inserted, deleted)
        seconds = time.perf_counter() - begun
        changed = sum(len(table) for tables in (inserted, deleted) for table in tables.values())
        yield Epoch(case.data, case.program, way, number, kind, changed, seconds, done.strategy)


def _schedule(facts: Facts) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The kind, the insertions and the deletions of each epoch.

    Each small change has its own facts. Small changes alternate between insertion and deletion, and so do
    large ones.
    """
    ((name, table),) = facts.moving.items()
    table = table.take(np.random.default_rng(0).permutation(len(table)))
    smalls, large = _EPOCHS.count("small"), round(_LARGE * len(table))
    size = max(1, round(_SMALL * len(table)))
    parts = [table.slice(i * size, size) for i in range(smalls)]
    first = pa.concat_tables([*parts[1::2], table.slice(smalls * size + large)])
    yield "load", _union(facts.always, {name: first}), {}
    numbers, arrives = iter(range(smalls)), True
    for kind in _EPOCHS[1:]:
        if kind == "large":
            part, comes = {name: table.slice(smalls * size, large)}, arrives
            arrives = False
        else:
            number = next(numbers)
            part, comes = {name: parts[number]}, number % 2 == 0
        yield kind, part if comes else {}, {} if comes else part


# -- facts


def _divide(tables: Tables, share: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split all facts at random, always the same way, into a share and a rest of at least one fact."""
    total = sum(len(table) for table in tables.values())
    chosen = np.zeros(total, np.bool_)
    chosen[np.random.default_rng(0).permutation(total)[: max(1, round((1 - share) * total))]] = True
    first: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    start = 0
    for name, table in tables.items():
        part = chosen[start : start + len(table)]
        first[name], rest[name] = table.filter(~part), table.filter(part)
        start += len(table)
    return first, {name: table for name, table in rest.items() if len(table)}


def _union(always: Tables, moving: Tables) -> dict[str, Any]:
    both = {name: [t[name] for t in (always, moving) if name in t] for name in {**always, **moving}}
    return {name: pa.concat_tables(parts) for name, parts in both.items()}
