"""Random rules as text. Not all are programs: some are unsafe, of mixed types, or cannot be stratified."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Final

from oracle.families import families
from oracle.schema import (
    COLUMNS,
    DERIVED,
    INT,
    MAYBE,
    MAYBE_TEXT,
    REAL,
    TEXT,
    TYPED,
    TYPED_INPUTS,
    Values,
)

VARIABLES: Final = {INT: "xyz", TEXT: "st", REAL: "uv", MAYBE: "op", MAYBE_TEXT: "qr"}
LEVELS: Final = {"positive": 0, "negated": 1, "guarded": 2, "full": 3, "typed": 3, "deep": 3, "large": 3}
Bound = dict[str, list[str]]


class Rules:
    def __init__(self, random: Random, flavour: str, values: Values) -> None:
        self.random = random
        self.flavour = flavour
        self.level = LEVELS[flavour]
        self.values = values
        self.typed = flavour == "typed"
        self.wide = flavour in ("deep", "large")  # a domain in which a product of relations is too much
        candidates = sorted(
            {**DERIVED, **TYPED} if self.typed else DERIVED.keys() - ({"U"} if self.wide else set())
        )
        self.pool = random.sample(candidates, random.choice([3, 4, 5] if self.typed else [2, 3, 3, 4]))
        self.inputs = ["E", "E", "F", "T", *(["G"] if self.level == 3 else [])]
        if self.typed:
            self.inputs = ["E", "F", *TYPED_INPUTS, *TYPED_INPUTS, "G"]

    def family(self) -> tuple[str, ...]:
        """Rules that belong together."""
        chosen = self.random.choice(families(self.flavour))
        return tuple(rule.replace("{n}", str(self.values.size)) for rule in chosen)

    def rule(self) -> str:
        bound: Bound = defaultdict(list)
        body = self._joined(bound)
        if self.level >= 1 and self.random.random() < 0.5:
            body.append(f"not {self._atom(bound, negated=True)}")
        if self.level >= 2:
            body += self._guards(bound)
        if self.level == 3:
            return self._full_rule(body, bound)
        self.random.shuffle(body)
        return f"{self._head(bound)} :- {', '.join(body)}."

    # -- atoms

    def _joined(self, bound: Bound) -> list[str]:
        """Atoms; in a wide domain each shares a variable with those before it."""
        count = self.random.choice([1, 2, 2] if self.wide else [1, 1, 2, 2, 2, 3])
        atoms: list[str] = []
        while len(atoms) < count:
            known = {v for names in bound.values() for v in names}
            trial: Bound = defaultdict(list, {t: list(names) for t, names in bound.items()})
            atom = self._atom(trial)
            if self.wide and known and not any(v in atom for v in known):
                continue
            bound.update(trial)
            atoms.append(atom)
        return atoms

    def _atom(self, bound: Bound, negated: bool = False) -> str:
        name = self.random.choice(self.inputs if self.random.random() < 0.55 else self.pool)
        terms = [self._term(type_, bound, negated) for type_ in COLUMNS[name]]
        return f"{name}({', '.join(terms)})"

    def _term(self, type_: str, bound: Bound, negated: bool) -> str:
        draw = self.random.random()
        constant = self.values.constant(type_)
        if draw < 0.08 and constant is not None:
            return constant
        if draw < (0.3 if negated else 0.15):
            return "_"
        if negated:
            return self.random.choice(bound[type_] or ["_"])
        name = self.random.choice(VARIABLES[type_])
        if name not in bound[type_]:
            bound[type_].append(name)
        return name

    def _head(self, bound: Bound) -> str:
        name = self.random.choice(self.pool)
        return f"{name}({', '.join(self._head_value(type_, bound) for type_ in COLUMNS[name])})"

    def _head_value(self, type_: str, bound: Bound) -> str:
        if self.level >= 2 and self.random.random() < 0.12:
            return self._value(type_, bound)
        if bound[type_] and self.random.random() < 0.9:
            return self.random.choice(bound[type_])
        return self.values.constant(type_) or self._value(type_, bound)

    # -- conditions and values

    def _guards(self, bound: Bound) -> list[str]:
        guards: list[str] = []
        type_ = self.random.choice([t for t in bound if bound[t]] or [INT])
        if self.random.random() < 0.4:
            op = self.random.choice(["==", "==", "!=", "<", "<=", ">", ">="])
            guards.append(f"{self._value(type_, bound)} {op} {self._value(type_, bound)}")
        if self.random.random() < 0.3:
            type_ = self.random.choice([INT, type_])
            name = f"w{len(type_)}"
            guards.append(f"var {name} = {self._value(type_, bound)}")
            bound[type_].append(name)
        if self.typed and bound[TEXT] and self.random.random() < 0.2:
            part = self.random.choice([*bound[TEXT], '"a"'])
            guards.append(f"{self.random.choice(['contains', 'starts_with'])}({bound[TEXT][0]}, {part})")
        return guards

    def _value(self, type_: str, bound: Bound) -> str:
        names = bound[type_] or [self.values.constant(type_) or "none"]
        x = self.random.choice(names)
        y = self.random.choice([*names, self.values.constant(type_) or x])
        return self.random.choice(self._shapes(type_, bound)).format(x=x, y=y, n=self.values.size)

    def _shapes(self, type_: str, bound: Bound) -> list[str]:
        either = "if ({x} < {y}) {x} else {y}"
        match type_:
            case "int":
                if self.random.random() < 0.05:
                    return ["({x} / {y}) % {n}", "{x} + {y} - {x}"]
                shapes = ["{x}", "{x}", "({x} + {y}) % {n}", "({x} * {y}) % {n}", either, "max({x}, {y})"]
                shapes += [f"unwrap_or({o}, {{y}})" for o in bound[MAYBE]]
                shapes += [f"length({s}) % {{n}}" for s in bound[TEXT]]
                return shapes
            case "string":
                return ["{x}", "{x}", either, "min({x}, {y})", "upper({x})", "substring({x} ++ {y}, 0, 2)"]
            case "double":
                shapes = ["{x}", "{x}", either, "max({x}, {y})", "-{x}"]
                return shapes + [f"{x} as double" for x in bound[INT] if self.random.random() < 0.5]
            case "option<int>":
                return ["{x}", "{x}", *(f"some({x})" for x in bound[INT])]
            case _:
                return ["{x}", "{x}", *(f"some({s})" for s in bound[TEXT])]

    # -- everything

    def _full_rule(self, body: list[str], bound: Bound) -> str:
        choice = self.random.random()
        if choice < 0.15 and bound[INT]:
            body += self._about_options(bound)
        elif choice < 0.3 and not self.wide:
            one, other, third = (
                self._atom(defaultdict(list, {t: list(v) for t, v in bound.items()})) for _ in range(3)
            )
            body.append(f"({one}; {other}, {third})")
        elif choice < 0.55:
            return self._aggregate(body, bound)
        self.random.shuffle(body)
        heads = [self._head(bound) for _ in range(self.random.choice([1, 1, 1, 2]))]
        return f"{', '.join(heads)} :- {', '.join(body)}."

    def _about_options(self, bound: Bound) -> list[str]:
        x = self.random.choice(bound[INT])
        tests = [
            "is_none(o)",
            "unwrap_or(o, 0) == 1",
            "G(_, o)",
            "not G(0, o)",
            "o == 1",
            "unwrap(o) < 2",
            "not H(o, _)",
        ]
        return [f"G({x}, o)", self.random.choice(tests)] if self.random.random() < 0.6 else [f"G({x}, _)"]

    def _aggregate(self, body: list[str], bound: Bound) -> str:
        relation = self.random.choice([n for n in self.pool if n != "Z"] or ["R"])
        types = COLUMNS[relation]
        place = self.random.randrange(len(types))
        values = [self._key(type_, bound) for type_ in types]
        keys = sorted({v for i, v in enumerate(values) if i != place and v.isidentifier()})
        type_, result = types[place], "n"
        if type_ == INT:
            value, function = self._counted(bound)
            result = f"n % {self.values.size}" if function not in ("min()", "max()") else "n"
        else:
            value = self._value(type_, bound)
            functions = ["min()", "max()", f"arg_min({self._value(INT, bound)})"]
            functions += (
                ['concat("-")', "concat()"] if type_ == TEXT else ["sum()", "avg()"] if type_ == REAL else []
            )
            function = self.random.choice(functions)
        distinct = ".distinct()" if self.random.random() < 0.2 else ""
        body.append(f"var n = ({value}).group_by({', '.join(keys)}){distinct}.{function}")
        if type_ == INT and self.random.random() < 0.3:
            body.append(self.random.choice(["n > 1", "F(n)", "not F(n)", "E(n, _)"]))
        values[place] = result
        self.random.shuffle(body)
        return f"{relation}({', '.join(values)}) :- {', '.join(body)}."

    def _key(self, type_: str, bound: Bound) -> str:
        return self.random.choice(bound[type_]) if bound[type_] else self._value(type_, bound)

    def _counted(self, bound: Bound) -> tuple[str, str]:
        """A value of any type, and an aggregate of it that is a whole number."""
        type_ = self.random.choice([t for t in bound if bound[t]] or [INT])
        if type_ != INT:
            return self._value(type_, bound), self.random.choice(["count()", "count_distinct()"])
        by = self._value(self.random.choice([t for t in bound if bound[t]] or [INT]), bound)
        functions = [
            "count()",
            "count_distinct()",
            "sum()",
            "min()",
            "max()",
            f"arg_min({by})",
            f"arg_max({by})",
        ]
        return self._value(INT, bound), self.random.choice(functions)
