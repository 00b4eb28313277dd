"""Carrying the experiments out, and what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from tidelog.bench.cases import Case, cases
from tidelog.bench.names import SHARES, WAYS
from tidelog.bench.papers import Epoch, Missing, Share, measure_epochs, measure_shares
from tidelog.bench.tables import epoch_table, memory_table, share_table, to_json

__all__ = ["Experiments"]

_IN_EPOCHS: Final = ("rdfs", "tc")  # the programs of the second experiment


class Experiments:
    """`limit` is in seconds, for one measurement; `tell` is called with what is being measured."""

    def __init__(self, limit: float, tell: Callable[[str], None]) -> None:
        self.limit = limit
        self.tell = tell
        self.shares: list[Share] = []
        self.epochs: list[Epoch] = []
        self.missing: list[Missing] = []

    @staticmethod
    def choose(
        only: str,
        *,
        quick: bool,
        graphs: Sequence[Path] = (),
        triples: Sequence[Path] = (),
        ontologies: Sequence[Path] = (),
    ) -> list[Case]:
        """The cases that have a text in their names; DataError if a file that was named cannot be read."""
        made = cases(quick=quick, graph_files=graphs, rdf_files=triples, ontology_files=ontologies)
        chosen = [case for case in made if only.lower() in case.name.lower()]
        for case in chosen:
            if case.is_from_files:  # told here once, not by every measurement
                case.make()
        return chosen

    def measure_shares(self, chosen: Iterable[Case], reasoners: Iterable[str]) -> None:
        reasoners = tuple(reasoners)
        for case in chosen:
            for name in reasoners:
                self.tell(f"{case.name}: {name}")
                found, missing = measure_shares(case, name, SHARES, self.limit)
                self.shares += found
                self.missing += [] if missing is None else [missing]

    def measure_epochs(self, chosen: Iterable[Case]) -> None:
        for case in chosen:
            for way in WAYS if case.program in _IN_EPOCHS else ():
                self.tell(f"{case.name}: {way}")
                found, missing = measure_epochs(case, way, self.limit)
                self.epochs += found
                self.missing += [] if missing is None else [missing]

    def tables(self) -> str:
        parts = [share_table(self.shares), memory_table(self.shares)] if self.shares else []
        parts += [epoch_table(self.epochs)] if self.epochs else []
        stopped = [f"{m.data}/{m.program}: {m.name} stopped: {m.why}" for m in self.missing]
        return "\n\n".join([*parts, "\n".join(stopped)] if stopped else parts)

    def to_json(self) -> str:
        return to_json(self.shares, self.epochs, self.missing)

    def plot(self, path: Path) -> None:
        import_module("tidelog.bench.plots").plot(self.shares, self.epochs, path)  # slow to load
