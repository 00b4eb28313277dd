"""Results as tables like those of the papers, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from tidelog.bench.growth import Size, crossings
from tidelog.bench.names import PLACES, REASONERS, WAYS
from tidelog.bench.papers import Epoch, Missing, Share

__all__ = ["epoch_table", "growth_table", "memory_table", "share_table", "to_json"]


def share_table(shares: Sequence[Share]) -> str:
    """A line for each case and share: for each reasoner, seconds to materialise, to add and to delete.

    `(differs)` marks a reasoner whose results differ from the first one of the line.
    """
    reasoners = [name for name in REASONERS if any(s.reasoner == name for s in shares)]
    lines = [["data", "program", "share", *reasoners]]
    for data, program, share in dict.fromkeys((s.data, s.program, s.share) for s in shares):
        found = {s.reasoner: s for s in shares if (s.data, s.program, s.share) == (data, program, share)}
        sizes = [(found[name].size, found[name].left) for name in reasoners if name in found]
        cells = [_times(found.get(name), sizes[0]) for name in reasoners]
        lines.append([data, program, f"{share:.1%}", *cells])
    return "seconds to materialise a share of the facts / to add the rest / to delete it again\n" + _aligned(
        lines
    )


def _times(found: Share | None, sizes: tuple[int, int]) -> str:
    if found is None:
        return "-"
    differs = "" if (found.size, found.left) == sizes else " (differs)"
    return " / ".join(map(_seconds, (found.materialise, found.add, found.delete))) + differs


def memory_table(shares: Sequence[Share]) -> str:
    """A line for each case: the peak memory of each reasoner's process."""
    reasoners = [name for name in REASONERS if any(s.reasoner == name for s in shares)]
    lines = [["data", "program", *reasoners]]
    for data, program in dict.fromkeys((s.data, s.program) for s in shares):
        line = [data, program]
        for name in reasoners:
            found = [s.memory for s in shares if (s.data, s.program, s.reasoner) == (data, program, name)]
            line.append(f"{max(found) / 2**20:.0f}" if found else "-")
        lines.append(line)
    return "peak memory of the process in MB\n" + _aligned(lines)


def epoch_table(epochs: Sequence[Epoch]) -> str:
    """A line for each epoch, and their sum: seconds of each way, and the strategy that `switch` chose."""
    ways = [way for way in WAYS if any(e.way == way for e in epochs)]
    lines = [["data", "program", "epoch", "facts", *ways, "chosen"]]
    for data, program in dict.fromkeys((e.data, e.program) for e in epochs):
        of_case = [e for e in epochs if (e.data, e.program) == (data, program)]
        for number, kind in dict.fromkeys((e.number, e.kind) for e in of_case):
            found = {e.way: e for e in of_case if e.number == number}
            facts = next(iter(found.values())).facts
            cells = [_seconds(found[way].seconds) if way in found else "-" for way in ways]
            how = found["switch"].how if "switch" in found else ""
            lines.append([data, program, f"{number + 1} {kind}", f"{facts:,}", *cells, how])
        sums = [_seconds(sum(e.seconds for e in of_case if e.way == way)) for way in ways]
        lines.append([data, program, "all", "", *sums, ""])
    return "seconds of each epoch\n" + _aligned(lines)


def growth_table(sizes: Sequence[Size]) -> str:
    """A line for each size: seconds in each place; then the crossing of each placement on Spark."""
    lines = [["data", "program", "facts", "tuples", *PLACES]]
    for data, program in dict.fromkeys((s.data, s.program) for s in sizes):
        of_case = [s for s in sizes if (s.data, s.program) == (data, program)]
        for facts, tuples in dict.fromkeys((s.facts, s.tuples) for s in of_case):
            found = {s.place: s for s in of_case if (s.facts, s.tuples) == (facts, tuples)}
            cells = [_seconds(found[place].seconds) if place in found else "-" for place in PLACES]
            lines.append([data, program, f"{facts:,}", f"{tuples:,}", *cells])
    meet = [
        f"{c.data}/{c.program}: Spark in {c.place} is faster than one thread in process: {c}"
        for c in crossings(sizes)
    ]
    return "\n".join(["seconds to materialise, by size and place", _aligned(lines), *meet])


def to_json(
    shares: Iterable[Share], epochs: Iterable[Epoch], sizes: Sequence[Size], missing: Iterable[Missing]
) -> str:
    found = {
        "shares": [asdict(s) for s in shares],
        "epochs": [asdict(e) for e in epochs],
        "sizes": [asdict(s) for s in sizes],
        "crossings": [asdict(c) for c in crossings(sizes)],
        "missing": [asdict(m) for m in missing],
    }
    return json.dumps(found, indent=2) + "\n"


def _seconds(seconds: float) -> str:
    return f"{seconds:.4f}" if seconds < 1 else f"{seconds:.2f}"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
