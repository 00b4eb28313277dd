"""Plots of the results: times by share, by epoch and by size, on logarithmic scales."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

from tidelog.bench.growth import Size
from tidelog.bench.names import PLACES, REASONERS, WAYS
from tidelog.bench.papers import Epoch, Share

matplotlib.use("Agg")

from matplotlib import pyplot  # after choosing a backend that needs no screen

__all__ = ["plot"]


def plot(shares: Sequence[Share], epochs: Sequence[Epoch], sizes: Sequence[Size], path: Path) -> None:
    """A row of plots for each case: adding, deleting, and epochs if measured; then a row for sizes."""
    measured = [(s.data, s.program) for s in shares] + [(e.data, e.program) for e in epochs]
    cases = list(dict.fromkeys(measured))
    growing = list(dict.fromkeys((s.data, s.program) for s in sizes))
    height = max(len(cases) + bool(growing), 1)
    figure, rows = pyplot.subplots(
        height, 3, figsize=(16, 1 + 3.4 * height), squeeze=False, layout="constrained"
    )
    for (data, program), (adding, deleting, running) in zip(cases, rows, strict=False):
        found = [s for s in shares if (s.data, s.program) == (data, program)]
        for axes, field in ((adding, "add"), (deleting, "delete")):
            _by_share(axes, found, field)
            axes.set_title(f"{data} / {program}: {field}")
        _by_epoch(running, [e for e in epochs if (e.data, e.program) == (data, program)])
        running.set_title(f"{data} / {program}: epochs")
    for (data, program), axes in zip(growing, rows[-1], strict=False):
        _by_size(axes, [s for s in sizes if (s.data, s.program) == (data, program)])
        axes.set_title(f"{data} / {program}: places")
    for axes in rows.flat:
        if not axes.lines:  # nothing was measured there
            axes.set_axis_off()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _by_share(axes: Any, shares: Sequence[Share], field: str) -> None:
    for name in REASONERS:
        found = sorted((1 - s.share, getattr(s, field)) for s in shares if s.reasoner == name)
        if found:
            axes.plot(*zip(*found, strict=True), marker="o", label=name)
    axes.set_xscale("log")
    axes.set_xlabel("share of the facts that change")
    _finish(axes)


def _by_epoch(axes: Any, epochs: Sequence[Epoch]) -> None:
    for way in WAYS:
        found = [(e.number + 1, e.seconds) for e in epochs if e.way == way]
        if found:
            axes.plot(*zip(*found, strict=True), marker="o", label=way)
    axes.set_xlabel("epoch")
    _finish(axes)


def _by_size(axes: Any, sizes: Sequence[Size]) -> None:
    for place in PLACES:
        found = sorted((s.tuples, s.seconds) for s in sizes if s.place == place)
        if found:
            axes.plot(*zip(*found, strict=True), marker="o", label=place)
    axes.set_xscale("log")
    axes.set_xlabel("tuples")
    _finish(axes)


def _finish(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_ylabel("seconds")
    axes.tick_params(labelsize=8)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7)
