"""Saves the state of a local engine between commits as a record, and restores it.

The file holds the arrays of tables and indexes in their memory layout, so a local file is read by mapping it.
Everything that kernels use as an address (row numbers, chains, hash tables, trace entries, ids of bit rows)
is first checked: it must be in bounds, and chains must end. See `restored` of each class. A file can be read
only by the same version of Tidelog on the same kind of machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from tidelog.data.types import Option, Type, present
from tidelog.engine.cost import StratumCost
from tidelog.engine.local.codes.codec import NONE, Codec, is_direct
from tidelog.engine.local.codes.dictionaries import described, put_dictionaries, take_dictionaries
from tidelog.engine.local.codes.packing import packing
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.record import Corrupt, Record, expect, expect_within
from tidelog.engine.local.storage.table import Table
from tidelog.plan.flat import FlatProgram
from tidelog.store.states import StatePart

__all__ = ["Costs", "Restored", "Saved", "cost_from", "described_types", "restored"]

Costs = Mapping[frozenset[str], StratumCost]


@dataclass(frozen=True, slots=True)
class Saved:
    """The state to save: an engine at its last commit and the costs of its strata, but not its rules."""

    engine: LocalEngine
    costs: Costs
    strategy: str = ""
    place: str = "driver"

    def write_parts(self, files: object, state: str) -> Sequence[StatePart]:
        """Nothing: all is in the record."""
        return ()

    def record(self) -> Record:
        engine, record = self.engine, Record()
        columns = [type_ for kinds in engine.types.values() for type_ in kinds]
        record.values = {
            "strategy": self.strategy,
            "types": described_types(engine.types),
            "dictionaries": put_dictionaries(record, engine.codec, columns),
            "tables": {name: table.saved(record) for name, table in engine.tables.items()},
            "bits": {name: bits.saved(record) for name, bits in engine.dense.bits.items()},
            "fitting": sorted(engine.dense.fitting()),
            "costs": [[sorted(names), asdict(cost)] for names, cost in self.costs.items()],
        }
        return record


@dataclass(frozen=True, slots=True)
class Restored:
    engine: LocalEngine
    costs: Costs


def restored(record: Record, program: FlatProgram, strategy: str = "") -> Restored | None:
    """Restore an engine with this program; None if the record has another one. Raises Corrupt if damaged."""
    try:
        return _restored(record, program, strategy)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise Corrupt(f"{type(error).__name__}: {error}") from None


def _restored(record: Record, program: FlatProgram, strategy: str) -> Restored | None:
    values = record.values
    types = {name: stored.types for name, stored in program.relations.items()}
    if values["strategy"] != strategy or values["types"] != described_types(types):
        return None
    engine = LocalEngine()
    columns = [type_ for kinds in types.values() for type_ in kinds]
    take_dictionaries(record, values["dictionaries"], columns, engine.codec)
    expect(values["tables"].keys() == types.keys(), "missing or extra tables")
    for name, saved in values["tables"].items():
        engine.tables[name] = table = Table.restored(record, saved, len(types[name]))
        _expect_codes(engine.codec, types[name], table)
    rows = sum(table.rows for table in engine.tables.values())
    for table in engine.tables.values():
        table.expect_iterations(rows + 1)  # every iteration but the last inserts a tuple
    for name, saved in values["bits"].items():
        expect(len(types[name]) == 2, "bit matrix of a relation that is not binary")
        engine.dense.bits[name] = bits = BitRelation.restored(record, saved)
        _expect_codes(engine.codec, types[name][:1], bits.names)
    engine.types.update(types)
    engine.prepare(program)
    engine.dense.have_fitting(values["fitting"])
    return Restored(engine, {frozenset(map(str, names)): cost_from(cost) for names, cost in values["costs"]})


def described_types(types: Mapping[str, tuple[Type, ...]]) -> dict[str, list[Any]]:
    return {name: list(map(described, types[name])) for name in sorted(types)}


def _expect_codes(codec: Codec, types: tuple[Type, ...], table: Table) -> None:
    """Raise Corrupt unless codes of structured and interned values are those of values."""
    for column, type_ in enumerate(types):
        packed = packing(present(type_))
        if packed is None and is_direct(type_):
            continue
        codes = table.column(column)
        codes = codes[codes != NONE] if isinstance(type_, Option) else codes
        if packed is not None:
            expect(packed.are_sound(codes), "invalid code")
        else:
            expect_within(codes, 0, len(codec.dictionary(type_)), "code")


def cost_from(saved: Mapping[str, Any]) -> StratumCost:
    made = StratumCost(**saved)
    for name in ("insertions", "deletions"):
        setattr(made, name, {int(digits): float(s) for digits, s in getattr(made, name).items()})
    plain = [getattr(made, f.name) for f in fields(made) if f.name not in ("insertions", "deletions")]
    times = [*plain, *made.insertions.values(), *made.deletions.values()]
    expect(all(type(t) in (int, float) and math.isfinite(t) and t >= 0 for t in times), "invalid cost")
    return made
