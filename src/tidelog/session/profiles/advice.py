"""Which rule of a profile to look at, and why, in sentences.

Each finding is a reason and a remedy. The thresholds are rough: a rule that adds a row for each instance,
without looking at many others, is as fast as it can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from tidelog.plan.fan_outs import FanOut
from tidelog.session.profiles.model import ProfiledRule, ProfiledStratum
from tidelog.session.rendering import clip, counted

__all__ = ["advise", "amount"]

_WORTH: Final = 0.1  # of the time of all strata, from which on a rule is worth a look
_MOST: Final = 3  # rules
_REPEATED: Final = 5  # instances for each row
_REJECTED: Final = 20  # examined rows for each instance
_MISJUDGED: Final = 8  # times the estimate
_FEW: Final = 1000  # instances or rows that never matter
_LONGEST: Final = 200
_LITTLE: Final = 0.2  # of the time of a stratum on Spark
_ON_SPARK: Final = ("tasks", "shuffled")  # how the places of its strata begin
_SHORT: Final = 8  # instances in a round
_LOOK_UP: Final = (
    "Rows are looked up by equal variables and constants, and tested by everything else; "
    "bind one more variable, or test earlier, in a relation of its own."
)
_PROJECT: Final = (
    "Most instances derive rows that are there already. If a variable is needed neither in the head nor in "
    "another atom, project it away first, in a relation of its own."
)
_APART: Final = "handle them in a rule of their own, or look up by another column, too."
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def advise(strata: Sequence[ProfiledStratum], commits: int) -> tuple[str, ...]:
    total = sum(s.seconds for s in strata)
    if not total:
        return ()
    ranked = sorted(((r, s) for s in strata for r in s.rules), key=lambda pair: pair[0].number)
    known = [(r, s) for r, s in ranked if r.instances or r.examined]
    worth = [pair for pair in known if pair[0].seconds >= _WORTH * total][:_MOST]
    said = [_about(rule, stratum, total) for rule, stratum in worth]
    said += [text for s in strata if s.seconds >= _WORTH * total for text in _of_stratum(s, commits, total)]
    return tuple(said)


def _about(rule: ProfiledRule, stratum: ProfiledStratum, total: float) -> str:
    found = list(_findings(rule, stratum))
    if not found:
        found = [_as_it_is(rule)]
    reasons = "; it ".join(reason for reason, _ in found)
    remedies = " ".join(remedy for _, remedy in found[:2])
    return f"Rule {rule.number} takes {rule.seconds / total:.0%} of the time. It {reasons}. {remedies}"


def _as_it_is(rule: ProfiledRule) -> tuple[str, str]:
    rows = f" and adds {counted(rule.rows, 'row')}" if rule.rows else ""
    reason = f"finds {counted(rule.instances, 'instance')}{rows}"
    if rule.examined < _FEW:
        return reason, "That is little work: most of the time goes into planning joins and beginning rounds."
    return reason, "Its time follows the rows that it derives."


def _findings(rule: ProfiledRule, stratum: ProfiledStratum) -> Iterator[tuple[str, str]]:
    atoms = rule.orders[0].atoms if rule.orders else ()
    scanned = next((a for a in atoms if a.scans), None)
    if scanned is not None:
        yield (
            f"looks up {_named(scanned)}, by no equal column, so it combines nearly all rows of both sides",
            "Give it a variable in common with another atom.",
        )
    yield from _repeats(rule, atoms)
    if rule.examined > _FEW and rule.examined > _REJECTED * max(rule.instances, 1):
        yield (
            f"looks at {amount(rule.examined / max(rule.instances, 1))} rows for each instance that it finds",
            _LOOK_UP,
        )
    yield from _misjudged(rule, atoms)
    if rule.instances and rule.instances < _SHORT * stratum.rounds and stratum.rounds > _FEW:
        yield (
            f"runs in {amount(stratum.rounds)} rounds with few instances each",
            "A recursion that doubles its steps, `R(x, z) :- R(x, y), R(y, z).`, has fewer rounds.",
        )


def _repeats(rule: ProfiledRule, atoms: Sequence[FanOut]) -> Iterator[tuple[str, str]]:
    if rule.rows is None or rule.instances < _FEW or rule.instances < _REPEATED * max(rule.rows, 1):
        return
    if rule.rows:
        reason = f"finds {amount(rule.instances / rule.rows)} instances for each row it adds"
    else:
        reason = f"finds {amount(rule.instances)} instances and adds no row"
    widest = max((a for a in atoms if a.measured is not None and a.by), key=_fan_out, default=None)
    if widest is not None and _fan_out(widest) > 1:
        reason += f"; {_named(widest)}, matches {_rows(widest)} per probe"
    yield (
        reason,
        _PROJECT,
    )


def _misjudged(rule: ProfiledRule, atoms: Sequence[FanOut]) -> Iterator[tuple[str, str]]:
    for atom in atoms:
        expected = math.inf if atom.estimated is None or not atom.by else max(atom.estimated, 1)
        if _fan_out(atom) > _MISJUDGED * expected:
            expectation = f"{amount(expected)} rows per probe were expected of {_named(atom)}"
            yield (
                f"is planned badly: {expectation}, which matches {_rows(atom)}",
                f"Some values of {atom.by} are much more frequent than others: {_APART}",
            )
            return


def _of_stratum(stratum: ProfiledStratum, commits: int, total: float) -> Iterator[str]:
    again = [(why, times) for how, why, times in stratum.strategies if how == "bootstrap"]
    times = sum(n for _, n in again)
    if commits > 2 and times > commits / 2:
        yield f"{stratum.name} was recomputed in {times} of {commits} commits: {again[0][0]}."
    if not stratum.texts:
        return
    share = f"{stratum.name} takes {stratum.seconds / total:.0%} of the time"
    if any(r.instances or r.examined for r in stratum.rules):
        if stratum.where.startswith(_ON_SPARK) and _own(stratum) < _LITTLE * stratum.seconds:
            yield (
                f"{share}, and little of that is the work of its rules: the rest is Spark starting tasks and "
                "moving rows. Where the data fits into one process, the driver is faster."
            )
        return
    in_frames = any(not r.is_counted for r in stratum.rules)
    if len(stratum.texts) == 1:
        counted_ = " What it finds is not counted in frames." if in_frames else ""
        yield f"{share}, with a single rule: {clip(stratum.texts[0], _LONGEST)}{counted_}"
    elif in_frames:
        yield f"{share}. How it is divided among its rules is not known: Spark evaluates a round as a whole."
    else:
        why = "since they were not evaluated one by one"
        yield f"{share}. How it is divided among its rules is not known, {why}."


def _own(stratum: ProfiledStratum) -> float:
    """The seconds that the rules of a stratum took, together."""
    return sum(r.seconds for r in stratum.rules)


def _named(atom: FanOut) -> str:
    place = _ORDINALS[atom.position] if atom.position < len(_ORDINALS) else f"{atom.position + 1}th"
    return f"its {place} literal, `{atom.literal}`"


def _fan_out(atom: FanOut) -> float:
    return 0.0 if atom.measured is None else atom.measured.rows


def _rows(atom: FanOut) -> str:
    assert atom.measured is not None
    return f"{'more than ' * atom.measured.is_bound}{amount(atom.measured.rows)} rows"


def amount(number: float) -> str:
    """A number as people say it."""
    return f"{number:.2g}" if number < 10 else f"{round(number):,}"
