"""A profile as tables of text, for terminals and pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tidelog.plan.fan_outs import FanOut
from tidelog.session.profiles.advice import amount
from tidelog.session.profiles.model import ProfiledRule, ProfiledStratum
from tidelog.session.rendering import text_table

__all__ = ["Table", "as_text", "clipped", "tables", "time_text"]

_STRATA: Final = 20
_RULES: Final = 20
_ORDERS: Final = 5  # rules whose join orders are shown
_WIDEST: Final = 72

Table = tuple[str, Sequence[str], list[list[str]]]


def as_text(title: str, seconds: float, strata: Sequence[ProfiledStratum], advice: Sequence[str]) -> str:
    parts = [f"{title}: {time_text(seconds)}", *advice]
    parts += [
        f"{name}\n{text_table(headers, [[clipped(c) for c in line] for line in lines])}"
        for name, headers, lines in tables(strata)
    ]
    return "\n\n".join(parts)


def tables(strata: Sequence[ProfiledStratum]) -> Iterator[Table]:
    """The tables of strata, of rules, and of the join orders of the slowest rules."""
    if not strata:
        return
    total = sum(s.seconds for s in strata)
    more = f", the slowest {_STRATA} of {len(strata):,}" if len(strata) > _STRATA else ""
    headers = ["time", "share", "rounds", "instances", "added", "removed", "rows", "memory", "stratum", "how"]
    placed = any(s.where for s in strata)
    lines = [_stratum_line(s, total, placed) for s in strata[:_STRATA]]
    yield f"strata{more}", [*headers, *(["where"] if placed else [])], lines
    rules = sorted((r for s in strata for r in s.rules), key=lambda r: r.number)
    if rules:
        more = f", the slowest {_RULES} of {len(rules):,}" if len(rules) > _RULES else ""
        headers = ["#", "time", "share", "instances", "estimated", "examined", "added", "rule"]
        yield f"rules{more}", headers, [_rule_line(r, total) for r in rules[:_RULES]]
    for rule in [r for r in rules if r.orders][:_ORDERS]:
        order = rule.orders[0]
        headers = ["literal", "looked up by", "estimated per probe", "measured"]
        yield (
            f"join order of rule {rule.number} from {order.start}",
            headers,
            [_atom_line(atom) for atom in order.atoms],
        )


def _stratum_line(stratum: ProfiledStratum, total: float, placed: bool) -> list[str]:
    how = ", ".join(
        name if times == 1 else f"{name} × {times}" for name, times in _by_strategy(stratum).items()
    )
    line = [
        time_text(stratum.seconds),
        share_text(stratum.seconds, total),
        f"{stratum.rounds:,}",
        f"{stratum.instances:,}" if stratum.is_counted else "",
        f"{stratum.inserted:,}",
        f"{stratum.deleted:,}",
        f"{stratum.rows:,}",
        "" if stratum.bytes is None else bytes_text(stratum.bytes),
        stratum.name,
        how,
    ]
    return [*line, stratum.where] if placed else line


def _by_strategy(stratum: ProfiledStratum) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, _, times in stratum.strategies:
        found[name] = found.get(name, 0) + times
    return found


def _rule_line(rule: ProfiledRule, total: float) -> list[str]:
    if not rule.is_counted:
        return [str(rule.number), *[""] * 6, rule.text]
    divided = "about " if rule.divided > rule.seconds / 2 else ""
    return [
        str(rule.number),
        divided + time_text(rule.seconds),
        share_text(rule.seconds, total),
        f"{rule.instances:,}",
        f"{round(rule.estimated):,}",
        f"{rule.examined:,}",
        "" if rule.rows is None else f"{rule.rows:,}",
        rule.text,
    ]


def _atom_line(atom: FanOut) -> list[str]:
    by = atom.by or ("" if atom.estimated is None else "nothing: all rows")
    estimated = "" if atom.estimated is None else amount(atom.estimated)
    if atom.measured is None:
        return [atom.literal, by, estimated, ""]
    rows = f"{'more than ' * atom.measured.is_bound}{amount(atom.measured.rows)}"
    return [atom.literal, by, estimated, rows]


def clipped(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def time_text(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"


def share_text(seconds: float, total: float) -> str:
    return f"{seconds / total:.0%}" if total else ""


def bytes_text(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
