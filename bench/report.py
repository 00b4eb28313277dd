"""Results as aligned text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from bench.result import Batch, Missing, Update

__all__ = ["batch_table", "to_json", "update_table", "winner_table"]

OURS = "tidelog"


def batch_table(batches: Sequence[Batch], missing: Iterable[Missing]) -> str:
    """A line for each program, data and engine, with its time relative to ours."""
    ours = {(b.program, b.data): b for b in batches if b.engine == OURS}
    header = [
        "program",
        "data",
        "engine",
        "time",
        "/ ours",
        "CPU",
        "result",
        "tuples",
        "instances",
        "memory",
        "B/tuple",
    ]
    lines = [header]
    for b in batches:
        own = ours.get((b.program, b.data))
        if own is None or b.engine == OURS:
            ratio = ""
        else:
            ratio = f"{b.seconds / own.seconds:.2f}" + ("" if b.size == own.size else " (differs)")
        per_tuple = f"{b.bytes_per_tuple:.0f}" if b.tuples else ""
        line = [b.program, b.data, b.engine, _time(b.seconds), ratio, _time(b.cpu), f"{b.size:,}"]
        lines.append([*line, _count(b.tuples), _count(b.instances), _memory(b.memory), per_tuple])
    lines += [[m.program, m.data, m.engine, m.why] for m in missing]
    return _aligned(lines)


def winner_table(batches: Sequence[Batch]) -> str:
    """A line for each program and data: which engine is the fastest, and by how much.

    Engines whose result has another size than ours don't take part. `/ ours` is the time of the
    fastest other engine relative to ours. The last columns have the engines that use the least processor time
    and memory.
    """
    sizes = {(b.program, b.data): b.size for b in batches if b.engine == OURS}
    right = [b for b in batches if b.size == sizes.get((b.program, b.data), b.size)]
    lines = [["program", "data", "fastest", "time", "next", "time", "/ ours", "least CPU", "least memory"]]
    for task in dict.fromkeys((b.program, b.data) for b in right):
        found = sorted((b for b in right if (b.program, b.data) == task), key=lambda b: b.seconds)
        first, *others = found
        following = [others[0].engine, _time(others[0].seconds)] if others else ["", ""]
        cpu = min(found, key=lambda b: b.cpu).engine
        memory = min(found, key=lambda b: b.memory).engine
        lines.append([*task, first.engine, _time(first.seconds), *following, _ours(found), cpu, memory])
    return _aligned(lines)


def _ours(found: Sequence[Batch]) -> str:
    """The time of the fastest other engine divided by ours."""
    own = [b.seconds for b in found if b.engine == OURS]
    others = [b.seconds for b in found if b.engine != OURS]
    return f"{min(others) / min(own):.2f}" if own and others else ""


def update_table(updates: Iterable[Update]) -> str:
    """A line for each kind of change and engine, with its share of a bootstrap's time and instances.

    `/ ours` is the time of another engine relative to ours.
    """
    header = (
        "program,data,change,engine,facts,time,/ ours,worst,bootstrap,share,changed,instances,share,how,equal"
    )
    found = list(updates)
    ours = {(u.program, u.data, u.change): u.seconds for u in found if u.engine == OURS}
    lines = [header.split(",")]
    for u in found:
        own = ours.get((u.program, u.data, u.change))
        touched = u.instances / u.bootstrap_instances if u.bootstrap_instances else 0.0
        lines.append(
            [
                u.program,
                u.data,
                u.change,
                u.engine,
                f"{u.facts:,}",
                _time(u.seconds),
                "" if own is None or u.engine == OURS else f"{u.seconds / own:.2f}",
                _time(u.worst),
                _time(u.bootstrap),
                f"{u.ratio:.1%}",
                _count(u.changed),
                _count(u.instances),
                f"{touched:.1%}" if u.bootstrap_instances else "",
                u.strategy,
                "" if u.equal is None else "yes" if u.equal else "NO",
            ]
        )
    return _aligned(lines)


def to_json(batches: Iterable[Batch], updates: Iterable[Update], missing: Iterable[Missing]) -> str:
    found = {
        "batches": [asdict(b) | {"bytes_per_tuple": b.bytes_per_tuple} for b in batches],
        "updates": [asdict(u) | {"ratio": u.ratio} for u in updates],
        "missing": [asdict(m) for m in missing],
    }
    return json.dumps(found, indent=2)


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Align columns: the first three left, the others right; a short line is all left-aligned."""
    full = [line for line in lines if len(line) == len(lines[0])]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i < 3 or len(line) < len(widths) else c.rjust(w)
            for i, (c, w) in _with(line, widths)
        )
        for line in lines
    )


def _with(line: Sequence[str], widths: Sequence[int]) -> Iterable[tuple[int, tuple[str, int]]]:
    return enumerate(zip(line, widths, strict=False))


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def _memory(size: int) -> str:
    return f"{size / 2**20:.0f} MB"
