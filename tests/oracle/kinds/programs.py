"""Random programs with multisets, streams and delays, as rule texts over a fixed set of relations.

All relations have two integer columns. A derived relation reads relations before it; relations that are sets
may also read themselves, and every relation may read any earlier commit that its kind allows.
"""

from __future__ import annotations

from random import Random

KINDS = {
    "A": "relation",
    "M": "multiset",
    "S": "stream",
    "B": "relation",
    "N": "multiset",
    "T": "stream",
    "C": "relation",
    "O": "multiset",
    "U": "stream",
    "D": "relation",
}
INPUTS = ("A", "M", "S")
DERIVED = tuple(name for name in KINDS if name not in INPUTS)
DECLARATIONS = "\n".join(
    f"{'input' if name in INPUTS else 'output'} {kind} {name}(x: int, y: int)" for name, kind in KINDS.items()
)
_GROUPS = (
    "var n = v.group_by({k}).count()",
    "var n = v.group_by({k}).sum()",
    "var n = v.group_by({k}).max()",
    "var n = v.group_by({k}).count_distinct()",
    "var a = (v as double).group_by({k}).avg(), var n = ceil(a) as int",
    "var c = v.group_by({k}).collect_vec(), var n = len(c)",
    "var c = v.group_by({k}).top(3), var n = c.get(1).unwrap_or(9)",
    "var a = (v as double).group_by({k}).sum(), var b = v.group_by({k}).sum(), var n = b + (a as int)",
    "var n = (v > 1).group_by({k}).count_if()",
    "var m = v.group_by({k}).median(), var n = ceil(m) as int",
    "var s = v.group_by({k}, y).sum(), var n = s.group_by({k}).count()",
    "var s = v.group_by({k}, y).count(), s > 1, var n = (s + y).group_by({k}).sum()",
)
_NESTED = (
    "var n = count {{ {atom} }}",
    "var n = sum(w) {{ {atom} }}",
    "var n = count {{ {atom}, w > 1 }}",
    "var l = collect_vec(w) {{ {atom} }}, var n = len(l)",
    "var n = max(w) {{ {atom} }}",
    "var l = top(w, 2, 0 - w) {{ {atom} }}, var n = len(l)",
)


def rule(random: Random) -> str:
    """A random rule."""
    head = random.choice(DERIVED)
    shape = random.random()
    grouped = shape < 0.25
    both = [_atom(random, head, terms, nested=grouped) for terms in (("x", "y"), ("y", "z"))]
    atoms = both[: random.choice([1, 1, 2])]
    last = "y" if len(atoms) == 1 else "z"
    if grouped:
        group = random.choice(_GROUPS).format(k="x").replace("v.", f"{last}.").replace("(v ", f"({last} ")
        after = f", {_atom(random, head, ('n + 0', '_'), nested=True)}" if random.random() < 0.3 else ""
        return f"{head}(x, n % 7) :- {', '.join(atoms)}, {group}{after}."
    if shape < 0.5:
        nested = random.choice(_NESTED).format(atom=_atom(random, head, ("x", "w"), nested=True))
        return f"{head}(x, n % 7) :- {', '.join(atoms)}, {nested}."
    more = []
    if random.random() < 0.4:
        negated = _atom(random, head, ("x", random.choice([last, "_"])), nested=True)
        more.append(random.choice([f"not {negated}", f"not ({negated}, x > 0)"]))
    if random.random() < 0.3:
        more.append(random.choice(["x < 3", f"{last} != 1", f"x <= {last}"]))
    if random.random() < 0.1:
        return f"{head}({random.randrange(3)}, {random.randrange(3)})."
    values = random.choice([f"x, {last}", f"{last}, x", "x, 0", f"x, ({last} + 1) % 4"])
    return f"{head}({values}) :- {', '.join((*atoms, *more))}."


def _atom(random: Random, head: str, terms: tuple[str, str], *, nested: bool = False) -> str:
    names = list(KINDS)
    below = names[: names.index(head)]
    if KINDS[head] == "relation" and not nested:
        below.append(head)
    is_stream = KINDS[head] == "stream"
    written = f"({', '.join(terms)})"
    if random.random() < 0.25:
        found = random.choice([n for n in names if is_stream or KINDS[n] != "stream"])
        return f"{found}-{random.choice([1, 1, 2, 3])}{written}"
    found = random.choice(below)
    primed = KINDS[found] != "relation" and random.random() < 0.3
    if primed or (KINDS[found] == "stream" and not is_stream):
        return f"{found}'{written}"
    return f"{found}{written}"
