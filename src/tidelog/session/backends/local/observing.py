"""What profiles show of a local engine: sizes, memory, and join orders with measured fan-outs."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.rules.sampling import measure
from tidelog.plan.fan_outs import Start, fan_outs
from tidelog.plan.flat import FlatProgram
from tidelog.session.profiles.observed import Observed, Size

__all__ = ["observed"]


def observed(engine: LocalEngine, program: FlatProgram, starts: Sequence[Start]) -> Observed:
    """It must be called inside a commit that changes nothing."""
    orders = {}
    for start in starts:
        rule, first = program.rules.get(start[0]), start[1]
        if rule is not None:
            chosen = engine.variants.order(rule, first)
            measured = measure(engine.runner, rule, chosen, first)
            orders[start] = fan_outs(program, rule, chosen, first, engine.statistics, measured)
    return Observed({name: _size(engine, name) for name in program.relations}, orders)


def _size(engine: LocalEngine, relation: str) -> Size:
    table, bits = engine.tables[relation], engine.dense.bits.get(relation)
    return Size(engine.size(relation), table.nbytes + (0 if bits is None else bits.nbytes))
