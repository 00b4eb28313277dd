"""Random rules over declared relations: literals of every kind, in every position.

Not all that comes out is a program (a variable may be assigned twice, a cycle may run through a negation);
whoever adds a rule tries it first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from oracle.language.case import RuleText
from oracle.language.expressions import Expressions
from oracle.language.nested import Literals, aggregated, own_arguments
from oracle.language.values import bare
from tidelog.data import types
from tidelog.data.types import Type

__all__ = ["RelationText", "Rules"]


@dataclass(frozen=True)
class RelationText:
    """A relation; `level` orders derived relations, inputs have level 0."""

    name: str
    types: tuple[Type, ...]
    role: str
    level: int
    key: tuple[int, ...] | None = None
    alias: tuple[Type, str] | None = None  # a type, and the name that it has in the declaration

    @property
    def text(self) -> str:
        named = dict([self.alias] if self.alias else [])
        columns = ", ".join(f"c{i}: {named.get(t, t)}" for i, t in enumerate(self.types))
        key = f" primary key ({', '.join(f'c{i}' for i in self.key)})" if self.key else ""
        return f"{self.role} relation {self.name}({columns}){key}".strip()


@dataclass
class _Body:
    """A body in the making: variables that atoms bind, those that are assigned, and the literals."""

    matched: dict[str, Type] = field(default_factory=dict)
    assigned: dict[str, Type] = field(default_factory=dict)
    literals: list[str] = field(default_factory=list)

    @property
    def scope(self) -> dict[str, Type]:
        return {**self.matched, **self.assigned}


class Rules:
    def __init__(self, random: Random, expressions: Expressions, relations: Sequence[RelationText]) -> None:
        self.random = random
        self.expressions = expressions
        self.relations = list(relations)
        self._fresh = 0
        self._structured = Literals(random, expressions, self._name, self._condition)

    def rule(self) -> RuleText:
        """A rule for one of the derived relations."""
        self._fresh = 0
        self.expressions.risky = self.random.random() < 0.25
        head = self.random.choice([r for r in self.relations if r.level])
        if self.random.random() < 0.04:
            return RuleText((self._fact(head),))
        body = self._body(head)
        if self.random.random() < 0.22:
            return self._grouped(head, body)
        heads = [self._head(head, body.scope)]
        if self.random.random() < 0.06:
            other = self.random.choice([r for r in self.relations if r.level])
            heads.append(self._head(other, body.scope))
        return RuleText(tuple(heads), self._shuffled(body.literals))

    def recursive(self) -> RuleText:
        """A recursive rule with nested bodies that test what comes from the recursion."""
        self._fresh = 0
        self.expressions.risky = False
        head = self.random.choice([r for r in self.relations if r.level])
        below = [r for r in self.relations if r.level < head.level]
        body = _Body()
        others = [self.random.choice(below)] if self._chance(0.6) else []
        placed = [(relation, self._terms(relation, body.matched)) for relation in (head, *others)]
        for _ in range(self.random.choice([1, 1, 1, 2])):
            if self._chance(0.45):
                body.literals.append(self._structured.testing_negation(below, body.scope))
            else:
                name = self._name("n")
                text, type_ = self._structured.testing_aggregate(below, body.scope, head.types)
                body.literals.append(f"var {name} = {text}")
                body.assigned[name] = type_
        body.literals += [self._atom(relation, terms, body) for relation, terms in placed]
        if self._chance(0.3):
            body.literals.append(self._condition(body.scope))
        heads = (self._head(head, body.scope),)
        return RuleText(heads, self._shuffled(body.literals))

    def failing(self) -> RuleText | None:
        """A rule that computes something that some of the rows have no value for."""
        self._fresh = 0
        relation = self.random.choice(self.relations)
        partial = [(i, text) for i, t in enumerate(relation.types) if (text := _partial(self.random, t))]
        if not partial:
            return None
        place, text = self.random.choice(partial)
        terms = [
            self._name("x") if i == place or self._chance(0.5) else "_" for i in range(len(relation.types))
        ]
        scope = {n: t for n, t in zip(terms, relation.types, strict=True) if n != "_"}
        body = [self._written(relation, terms), f"var v = {text.replace('?', terms[place])}"]
        if self._chance(0.5):
            body.append(self._condition(scope))
        heads = [r for r in self.relations if r.level > relation.level]
        if not heads:
            return None
        head = self.random.choice(heads)
        if self._chance(0.3):
            below = [r for r in self.relations if r.level < head.level]
            body.append(f"not {self._negated(self.random.choice(below), scope)}")
        return RuleText((self._head(head, scope),), self._shuffled(body))

    # -- bodies

    def _body(self, head: RelationText) -> _Body:
        body = _Body()
        below = [r for r in self.relations if r.level < head.level]
        near = [r for r in self.relations if 0 < r.level <= head.level + (self.random.random() < 0.1)]
        count = self.random.choice([0, 1, 1, 1, 2, 2, 2, 3]) if self._chance(0.95) else 4
        atoms = [self.random.choice(near if self._chance(0.2) else below) for _ in range(count)]
        placed = [(relation, self._terms(relation, body.matched)) for relation in atoms]
        for _ in range(self._some()):
            self._assign(body)
        self._extend(body, head, below)
        if self._chance(0.13):
            self._disjunction(body, below)
        body.literals += [self._atom(relation, terms, body) for relation, terms in placed]
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            body.literals.append(self._condition(body.scope))
        for _ in range(self._some()):
            body.literals.append(f"not {self._negated(self.random.choice(below), body.scope)}")
        if self._chance(0.15):
            body.literals.append(self._structured.negated(below, body.scope))
        return body if body.literals else self._body(head)

    def _extend(self, body: _Body, head: RelationText, below: Sequence[RelationText]) -> None:
        """Generators, destructuring and aggregates over bodies, with the variables that they bind."""
        made: list[tuple[str, dict[str, Type]]] = []
        if self._chance(0.2):
            made.append(self._structured.generator(body.scope))
        taken_apart = self._structured.destructuring(body.scope) if self._chance(0.2) else None
        made += [taken_apart] if taken_apart else []
        for text, bound in made:
            body.literals.append(text)
            body.assigned |= bound
        for _ in range(self.random.choice([1, 1, 2]) if self._chance(0.15) else 0):
            name = self._name("n")
            text, type_ = self._structured.aggregate(below, body.scope, head.types)
            body.literals.append(f"var {name} = {text}")
            body.assigned[name] = type_

    def _some(self) -> int:
        return self.random.choice([0, 0, 0, 1, 1, 1, 2])

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _shuffled(self, literals: Iterable[str]) -> tuple[str, ...]:
        listed = list(literals)
        self.random.shuffle(listed)
        return tuple(listed)

    def _name(self, prefix: str) -> str:
        self._fresh += 1
        return f"{prefix}{self._fresh}"

    def _terms(self, relation: RelationText, matched: dict[str, Type]) -> list[str]:
        """Variables and wildcards for a relation's columns; `?` is decided when all variables are known."""
        terms: list[str] = []
        for type_ in relation.types:
            names = [n for n, t in matched.items() if t == type_]
            draw = self.random.random()
            if draw < 0.13:
                terms.append("_")
            elif draw < 0.23:
                terms.append("?")
            elif draw < 0.6 and names:
                terms.append(self.random.choice(names))
            elif draw < 0.8 and isinstance(type_, types.Named | types.Tuple):
                terms.append(self._structured.pattern(type_, matched))
            else:
                terms.append(self._name("x"))
                matched[terms[-1]] = type_
        return terms

    def _atom(self, relation: RelationText, terms: Sequence[str], body: _Body) -> str:
        decided = [
            self._argument(t, body.scope) if term == "?" else term
            for term, t in zip(terms, relation.types, strict=True)
        ]
        return self._written(relation, decided)

    def _written(self, relation: RelationText, terms: Sequence[str]) -> str:
        if terms and self._chance(0.1):
            named = [f".c{i} = {term}" for i, term in enumerate(terms) if term != "_"]
            return f"{relation.name}({', '.join(self._shuffled(named))})"
        return f"{relation.name}({', '.join(terms)})"

    def _argument(self, type_: Type, scope: Mapping[str, Type]) -> str:
        """A constant or an expression among the arguments of an atom."""
        if self._chance(0.5):
            text = bare(type_, self.expressions.values.value(type_))
            return text if text is not None else self.expressions.constant(type_)
        return self.expressions.make(type_, scope)

    def _negated(self, relation: RelationText, scope: Mapping[str, Type]) -> str:
        terms = []
        for type_ in relation.types:
            names = sorted(n for n, t in scope.items() if t == type_)
            draw = self.random.random()
            if draw < 0.25:
                terms.append("_")
            elif draw < 0.6 and names:
                terms.append(self.random.choice(names))
            else:
                terms.append(self._argument(type_, scope))
        return self._written(relation, terms)

    def _assign(self, body: _Body) -> None:
        """A `var`: of a new variable, or of one that an atom binds as well."""
        if body.matched and self._chance(0.12):
            name = self.random.choice(sorted(body.matched))
            others = {n: t for n, t in body.scope.items() if n != name}
            body.literals.append(f"var {name} = {self.expressions.make(body.matched[name], others)}")
            return
        type_ = self.random.choice(sorted(body.scope.values(), key=str)) if body.scope else None
        if type_ is None or self._chance(0.3):
            type_ = self.expressions.type()
        name = self._name("v")
        body.literals.append(f"var {name} = {self.expressions.make(type_, body.scope)}")
        body.assigned[name] = type_

    def _condition(self, scope: Mapping[str, Type]) -> str:
        if self._chance(0.35) and scope:
            name = self.random.choice(sorted(scope))
            others = {n: t for n, t in scope.items() if n != name}
            sides = [name, self.expressions.make(scope[name], others)]
            return " == ".join(self._shuffled(sides))
        if self._chance(0.1):
            return self.random.choice(["1 < 2", "true", "2 == 2", "1 > 2", "false", "not false"])
        return self.expressions.condition(scope)

    def _disjunction(self, body: _Body, below: Sequence[RelationText]) -> None:
        """Alternatives that all give one new variable its value, or that are conditions alone."""
        if self._chance(0.4) and body.scope:
            first, second = self._condition(body.scope), self._condition(body.scope)
            negated = self._negated(self.random.choice(below), body.scope)
            body.literals.append(f"({first}; {second}, not {negated})")
            return
        relation = self.random.choice(below)
        type_ = self.random.choice(relation.types) if relation.types else types.INT
        name = self._name("d")
        alternatives = [f"var {name} = {self.expressions.make(type_, body.scope)}"]
        if type_ in relation.types:
            place = self.random.choice([i for i, t in enumerate(relation.types) if t == type_])
            terms = [self._known(t, body.matched) for t in relation.types]
            terms[place] = name
            alternatives.append(f"{relation.name}({', '.join(terms)})")
        else:
            alternatives.append(f"var {name} = {self.expressions.make(type_, body.scope)}")
        if self._chance(0.3):
            alternatives[0] += f", {self._condition(body.scope)}"
        body.literals.append(f"({'; '.join(self._shuffled(alternatives))})")
        body.assigned[name] = type_

    def _known(self, type_: Type, scope: Mapping[str, Type]) -> str:
        names = sorted(n for n, t in scope.items() if t == type_)
        return self.random.choice(names) if names and self._chance(0.5) else "_"

    # -- heads

    def _head(self, relation: RelationText, scope: Mapping[str, Type]) -> str:
        terms = [self._value(t, scope) for t in relation.types]
        return self._written(relation, terms) if "_" not in terms else f"{relation.name}({', '.join(terms)})"

    def _value(self, type_: Type, scope: Mapping[str, Type]) -> str:
        names = sorted(n for n, t in scope.items() if t == type_)
        if names and self._chance(0.85):
            return self.random.choice(names)
        if isinstance(type_, types.Option):
            items = sorted(n for n, t in scope.items() if t == type_.item)
            if self._chance(0.2):
                return "none"
            if items and self._chance(0.6):
                return self.random.choice(items)
        if self._chance(0.3):
            return self.expressions.make(type_, scope)
        return self.expressions.constant(type_)

    def _fact(self, relation: RelationText) -> str:
        return f"{relation.name}({', '.join(self.expressions.constant(t) for t in relation.types)})"

    # -- groups

    def _grouped(self, head: RelationText, body: _Body) -> RuleText:
        """A rule with one stage of aggregates or several, each over the rows of the one before."""
        scope, literals = body.scope, list(body.literals)
        below = [r for r in self.relations if r.level < head.level]
        after, needs = self._stage(head, scope, scope, literals)
        while self._chance(0.3) and needs:
            self._between(below, needs, after, literals)
            after, needs = self._stage(head, after, needs, literals)
        self._between(below, needs, after, literals)
        return RuleText((self._head(head, after),), self._shuffled(literals))

    def _stage(
        self, head: RelationText, scope: dict[str, Type], needs: dict[str, Type], literals: list[str]
    ) -> tuple[dict[str, Type], dict[str, Type]]:
        """Aggregates over `scope` that read something of `needs`: what is bound after them, their results."""
        keys = self.random.sample(sorted(scope), min(len(scope), self.random.choice([0, 1, 1, 2])))
        results: dict[str, Type] = {}
        for _ in range(self.random.choice([1, 1, 1, 2])):
            name = self._name("n")
            wanted = [t for t in head.types if t not in results.values()]
            read = scope if needs.keys() & set(keys) or self._chance(0.1) else needs
            text, type_ = self._aggregate(read, keys, wanted)
            literals.append(f"var {name} = {text}")
            results[name] = type_
        return {**{k: scope[k] for k in keys}, **results}, results

    def _between(
        self,
        below: Sequence[RelationText],
        results: Mapping[str, Type],
        after: dict[str, Type],
        literals: list[str],
    ) -> None:
        """Literals that use the results of a stage."""
        if self._chance(0.25):
            literals.append(self._condition(results))
        if self._chance(0.15):
            literals.append(f"not {self._negated(self.random.choice(below), results)}")
        if self._chance(0.1):
            literals.append(self._structured.negated(below, after))
        if self._chance(0.15):
            name = self._name("v")
            type_ = self.random.choice(list(results.values()))
            literals.append(f"var {name} = {self.expressions.make(type_, results)}")
            after[name] = type_

    def _aggregate(
        self, scope: Mapping[str, Type], keys: Sequence[str], wanted: Sequence[Type]
    ) -> tuple[str, Type]:
        """An aggregate, mostly one whose result a column of the head can take."""
        distinct = ".distinct()" if self._chance(0.15) else ""
        own = self.expressions.aggregate(wanted)
        if own is not None:
            outside = {k: scope[k] for k in keys if k in scope}
            value, *extra = own_arguments(self.expressions, own, scope, outside)
            call = f"{own.name}({', '.join(extra)})"
            return f"({value}).group_by({', '.join(keys)}){distinct}.{call}", own.result
        chosen = aggregated(self.expressions, scope, wanted)
        value, *extra = chosen.arguments
        call = f"{chosen.function.name}({', '.join(extra)})"
        return f"({value}).group_by({', '.join(keys)}){distinct}.{call}", chosen.result


def _partial(random: Random, type_: Type) -> str | None:
    """An expression of `?`, a value of this type, that fails for some of its values."""
    match type_:
        case types.Option():
            return "unwrap(?)"
        case types.Double():
            return random.choice(["1.0 / ?", "sqrt(?)", "ln(?)", "? as int"])
        case types.Float() | types.Decimal():
            return random.choice(["? / ?", "? % ?", "? as bit<8>"])
        case types.Int():
            return random.choice(["6 / ?", "? - 9223372036854775807", "(? - 1) / (? - 1)", "? as bit<8>"])
        case types.BigInt() | types.Bit() | types.Signed():
            return random.choice(["? / ?", "? as signed<8>", "? % ?"])
        case types.String():
            return random.choice(["? as int", "unhex(?)", 'unwrap(index_of(?, "a"))', "? as double"])
        case types.Bytes():
            return "? as string"
        case types.Date():
            return random.choice(["add_days(?, 700000)", "add_days(?, -700000)"])
        case types.Timestamp():
            return "(? as int) * 1000000"
        case types.Duration():
            return random.choice(["? * 9223372036854775807", "? + ?"])
        case types.Vec(item) if not isinstance(item, types.Option):
            return "unwrap(first(?))"
        case types.Map(_, value) if not isinstance(value, types.Option):
            return "unwrap(first(values(?)))"
        case types.Named("result"):
            return "unwrap(?)"
        case types.Bool() | types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            return None
