"""Cases with many structured types at once, each as a key of joins, negations, constants and groups.

Random programs try few types with many rules. Here every type meets every operation that an engine may leave
to its platform, in one program.
"""

from __future__ import annotations

from random import Random

from oracle.language.case import Action, AddRule, Case, Delete, Insert, RemoveRule, RuleText, Step
from oracle.language.structures import Structures
from oracle.language.values import EVERY_TYPE, SMALL, Values, constant
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row

__all__ = ["gallery"]


def gallery(seed: int, count: int = 6, rows: int = 6) -> Case:
    """A case with this many types, and rows to begin with."""
    random = Random(f"gallery:{seed}")
    values = Values(random, edgy=random.random() < 0.5)
    drawn = SMALL if random.random() < 0.4 else EVERY_TYPE
    scalars = [types.present(t) for t in random.sample(drawn, 4)]
    structures = Structures(random, scalars)
    columns = structures.columns(count)
    given = [(n, *(values.value(t) for t in columns)) for n in range(rows + 3)]
    other = [
        tuple(random.choice([row[i + 1], values.value(t)]) for i, t in enumerate(columns)) for row in given
    ]
    rules = [rule for i, t in enumerate(columns) for rule in _rules(i, t, values.value(t))]
    late = random.choice(rules)

    def first(listed: list[Row], taken: slice, *kinds: Type) -> tuple[Row, ...]:
        return tuple(values.given(kinds, row) for row in listed[taken])

    def inserted(taken: slice) -> tuple[Action, ...]:
        return (
            Insert("In", first(given, taken, types.INT, *columns)),
            Insert("Other", first(other, taken, *columns)),
        )

    gone = Delete("In", first(given, slice(1, 3), types.INT, *columns))
    less = Delete("Other", first(other, slice(0, 2), *columns))
    steps = (
        Step(inserted(slice(0, rows))),
        Step((gone, *inserted(slice(rows, None)))),
        Step((less, AddRule(late))),
        Step((RemoveRule(random.choice(rules)), Insert("In", gone.rows[:1]))),
    )
    kept = tuple(rule for rule in rules if rule != late)
    return Case((*structures.texts, *_relations(columns)), kept, steps, seed=seed)


def _relations(columns: list[Type]) -> list[str]:
    listed = ", ".join(f"c{i}: {t}" for i, t in enumerate(columns))
    outputs = ("Same(k: int, n: int, m: int)", "Lone(k: int, n: int)", "Size(k: int, n: int, m: int)")
    return [
        f"input relation In(n: int, {listed})",
        f"input relation Other({listed})",
        *(f"output relation {o}" for o in outputs),
        *(f"output relation R{i}(a: {t}, b: {t})" for i, t in enumerate(columns)),
    ]


def _rules(place: int, type_: Type, value: object) -> list[RuleText]:
    k, text = f"{place}", constant(type_, value)  # type: ignore[arg-type]
    atom, other = f"In(.n = n, .c{k} = x)", f"Other(.c{k} = x)"

    def rule(head: str, *body: str) -> RuleText:
        return RuleText((head,), body)

    rules = [
        rule(f"Same({k}, n, m)", atom, f"In(.n = m, .c{k} = x)"),
        rule(f"Lone({k}, n)", atom, f"not {other}"),
        rule(
            f"Size({k}, n, m)",
            other,
            f"In(.n = w, .c{k} = x)",
            "var n = w.group_by(x).count()",
            "var m = w.group_by(x).min()",
        ),
        rule(f"R{k}(x, y)", f"In(.n = n, .c{k} = x)", f"In(.n = n + 1, .c{k} = y)"),
        rule(f"R{k}(x, z)", f"R{k}(x, y)", f"R{k}(y, z)"),
        rule(f"R{k}(x, {text})", other),
    ]
    if not isinstance(type_, types.Option):
        rules += [
            rule(f"Lone({k}, -n)", atom, f"x == {text}"),
            rule(f"Lone({k}, n + 100)", atom, f"x != {text}"),
        ]
    return rules
