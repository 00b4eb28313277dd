"""Runs the experiments and holds their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tidelog.bench.cases import Case, cases, growing_cases
from tidelog.bench.growth import Size, measure_growth
from tidelog.bench.names import PLACES, SHARES, WAYS
from tidelog.bench.papers import Epoch, Missing, Share, measure_epochs, measure_shares
from tidelog.bench.tables import epoch_table, growth_table, memory_table, share_table, to_json

__all__ = ["Experiments"]

_IN_EPOCHS: Final = ("rdfs", "tc")  # the programs of the second experiment


class Experiments:
    """`limit` is the time limit of one measurement in seconds; `tell` is called with its name at its start.

    `keep` is called with all results so far after each new one.
    """

    def __init__(
        self, limit: float, tell: Callable[[str], None], keep: Callable[[str], None] = lambda _: None
    ) -> None:
        self.limit = limit
        self.tell = tell
        self.keep = keep
        self.shares: list[Share] = []
        self.epochs: list[Epoch] = []
        self.sizes: list[Size] = []
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
        """The cases whose name is `only` or contains it; raises DataError if a file cannot be read."""
        made = cases(quick=quick, graph_files=graphs, rdf_files=triples, ontology_files=ontologies)
        chosen = _named(made, only, lambda case: case.name)
        for case in chosen:
            if case.is_from_files:  # report errors here once, not in every measurement
                case.make()
        return chosen

    @staticmethod
    def choose_growing(only: str, *, quick: bool) -> list[tuple[Case, ...]]:
        """The cases of the third experiment, chosen by name like `choose`."""
        return _named(growing_cases(quick=quick), only, lambda sizes: sizes[0].name)

    def measure_shares(self, chosen: Iterable[Case], reasoners: Iterable[str]) -> None:
        reasoners = tuple(reasoners)
        for case in chosen:
            for name in reasoners:
                self.tell(f"{case.name}: {name}")
                take = partial(self._take, self.shares)
                self._note(measure_shares(case, name, SHARES, self.limit, take))

    def measure_epochs(self, chosen: Iterable[Case]) -> None:
        for case in chosen:
            for way in WAYS if case.program in _IN_EPOCHS else ():
                self.tell(f"{case.name}: {way}")
                self._note(measure_epochs(case, way, self.limit, partial(self._take, self.epochs)))

    def measure_growth(self, chosen: Iterable[tuple[Case, ...]]) -> None:
        for growing in chosen:
            for place in PLACES:
                self.tell(f"{growing[0].name}: {place}")
                self._note(measure_growth(growing, place, self.limit, partial(self._take, self.sizes)))

    def _take(self, results: list[Any], found: Any) -> None:
        results.append(found)
        self.keep(self.to_json())

    def _note(self, missing: Missing | None) -> None:
        if missing is not None:
            self._take(self.missing, missing)

    def tables(self) -> str:
        parts = [share_table(self.shares), memory_table(self.shares)] if self.shares else []
        parts += [epoch_table(self.epochs)] if self.epochs else []
        parts += [growth_table(self.sizes)] if self.sizes else []
        stopped = [f"{m.data}/{m.program}: {m.name} stopped: {m.why}" for m in self.missing]
        return "\n\n".join([*parts, "\n".join(stopped)] if stopped else parts)

    def to_json(self) -> str:
        return to_json(self.shares, self.epochs, self.sizes, self.missing)

    def plot(self, path: Path) -> None:
        """Plot all results to a file."""
        import_module("tidelog.bench.plots").plot(self.shares, self.epochs, self.sizes, path)  # slow to load


def _named(made: list[Any], only: str, name_of: Callable[[Any], str]) -> list[Any]:
    """Those whose name is `only`, or else contains it; ignores case, and treats `-` like `/`."""
    wanted = only.lower().replace("/", "-")
    names = [name_of(one).lower().replace("/", "-") for one in made]
    exact = [one for one, name in zip(made, names, strict=True) if name == wanted]
    return exact or [one for one, name in zip(made, names, strict=True) if wanted in name]
