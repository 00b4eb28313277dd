"""Plots ratios as bars on a logarithmic scale: other engines to ours, updates to a bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

from bench.result import Batch, Update

matplotlib.use("Agg")

from matplotlib import pyplot  # after choosing a backend that needs no screen

__all__ = ["plot"]

ENGINES = ("duckdb", "souffle", "souffle compiled", "flowlog")


def plot(batches: Sequence[Batch], updates: Sequence[Update], path: Path) -> None:
    tasks = list(dict.fromkeys((b.program, b.data) for b in batches))
    height = 1.5 + 0.3 * max(len(tasks), len(updates), 4)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(15, height), layout="constrained")
    _peers(left, batches, tasks)
    _shares(right, updates)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _peers(axes: Any, batches: Sequence[Batch], tasks: Sequence[tuple[str, str]]) -> None:
    seconds = {(b.program, b.data, b.engine): b.seconds for b in batches}
    for i, engine in enumerate(ENGINES):
        found = [
            (place, seconds[*task, engine] / seconds[*task, "tidelog"])
            for place, task in enumerate(tasks)
            if (*task, engine) in seconds and (*task, "tidelog") in seconds
        ]
        if found:
            places, ratios = zip(*found, strict=True)
            axes.barh([p + 0.2 * (i - 1.5) for p in places], ratios, height=0.19, label=engine)
    axes.set_yticks(range(len(tasks)), [" / ".join(task) for task in tasks])
    axes.set_title("time of others / ours (right of 1: we are faster)")
    _finish(axes)


def _shares(axes: Any, updates: Sequence[Update]) -> None:
    axes.barh(range(len(updates)), [u.ratio for u in updates], height=0.6, label="tidelog")
    axes.set_yticks(range(len(updates)), [f"{u.program} / {u.data}: {u.change}" for u in updates])
    axes.set_title("time of an update / a bootstrap of the same data")
    _finish(axes)


def _finish(axes: Any) -> None:
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.tick_params(labelsize=8)
    if axes.has_data() and axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
