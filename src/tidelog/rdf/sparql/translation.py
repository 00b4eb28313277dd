"""The algebra of a query as rules: one relation for each operator, over the relation `T` of triples.

Solutions of SPARQL are counted, rows of ours are not. So a relation has, beside the variables of its
solutions, what makes them different: the blank nodes of a pattern, the branch of a union, and variables that
a subquery hides. Equal solutions are then different rows, and what is left out at the end are columns, not
solutions. A variable without a value is the empty string, which no term is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from tidelog.rdf.sparql.functions import aggregate
from tidelog.rdf.sparql.reading import expression_of, term_of, unsupported, variables_of
from tidelog.syntax.printer import quote

__all__ = ["Solutions", "Translator"]

_NONE: Final = '""'
_AGGREGATES: Final = {
    f"Aggregate_{name}": name.lower() for name in ("Count", "Sum", "Avg", "Min", "Max", "Sample")
} | {"Aggregate_GroupConcat": "group_concat"}


@dataclass(frozen=True, slots=True)
class Solutions:
    """A relation whose columns are those of `variables`, then `tags`. `certain` variables always have values.

    Columns are named by what they are in rules.
    """

    relation: str
    variables: tuple[str, ...]
    certain: frozenset[str]
    tags: tuple[str, ...] = ()

    @property
    def atom(self) -> str:
        return f"{self.relation}({', '.join((*self.variables, *self.tags))})"


class Translator:
    """`lines` are the declarations and rules; `names` are the names of variables in them."""

    def __init__(self) -> None:
        self.lines: list[str] = ["input relation T(s: string, p: string, o: string)"]
        self.names: dict[str, str] = {}
        self._numbers = count()

    # -- names and rules

    def _name(self, variable: Any) -> str:
        return self.names.setdefault(str(variable), f"v{len(self.names)}")

    def _new(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    def _relation(self, columns: Sequence[str]) -> str:
        name = self._new("Q")
        self.lines.append(f"relation {name}({', '.join(f'{c}: string' for c in columns)})")
        return name

    def _rule(self, head: str, *body: str) -> None:
        self.lines.append(f"{head} :- {', '.join(body)}." if body else f"{head}.")

    def _made(self, variables: Iterable[str], certain: Iterable[str], tags: Iterable[str]) -> Solutions:
        listed, kept = tuple(dict.fromkeys(variables)), tuple(tags)
        return Solutions(self._relation((*listed, *kept)), listed, frozenset(certain), kept)

    def _apart(self, found: Solutions) -> Solutions:
        """The same relation with new names for its tags."""
        return replace(found, tags=tuple(self._new("t") for _ in found.tags))

    # -- operators

    def solutions(self, node: Any) -> Solutions:
        match node.name:
            case "BGP":
                return self._pattern(node.triples)
            case "Join":
                return self._join(self.solutions(node.p1), self.solutions(node.p2))
            case "LeftJoin":
                return self._left_join(self.solutions(node.p1), self.solutions(node.p2), node.expr)
            case "Union":
                return self._union(self.solutions(node.p1), self.solutions(node.p2))
            case "Minus":
                return self._minus(self.solutions(node.p1), self.solutions(node.p2))
            case "Filter":
                return self._filter(self.solutions(node.p), expression_of(node.expr))
            case "Extend":
                return self._extend(self.solutions(node.p), node.var, expression_of(node.expr))
            case "AggregateJoin":
                return self._aggregates(node)
            case "ToMultiSet":
                return self._values(node.p.res) if node.p.name == "values" else self.solutions(node.p)
            case "Project":
                return self._project(self.solutions(node.p), node.PV)
            case "Distinct":
                return self._distinct(self.solutions(node.p))
            case "Slice":
                raise unsupported("LIMIT or OFFSET in a subquery")
            case "OrderBy" | "Reduced":
                return self.solutions(node.p)
            case _:
                raise unsupported(node.name)

    def _pattern(self, triples: Iterable[Sequence[Any]]) -> Solutions:
        from rdflib.paths import Path
        from rdflib.term import BNode, Variable

        tags: dict[str, str] = {}
        variables: dict[str, None] = {}
        body: list[str] = []
        for triple in triples:
            terms: list[str] = []
            for part in triple:
                if isinstance(part, Path):
                    raise unsupported(f"the property path {part.n3()}")
                if isinstance(part, Variable):
                    terms.append(self._name(part))
                    variables[terms[-1]] = None
                elif isinstance(part, BNode):
                    terms.append(tags.setdefault(str(part), self._new("b")))
                else:
                    terms.append(quote(term_of(part)))
            body.append(f"T({', '.join(terms)})")
        made = self._made(variables, variables, tags.values())
        self._rule(made.atom, *body)
        return made

    def _together(self, a: Solutions, b: Solutions) -> tuple[Solutions, list[str], dict[str, str]]:
        """`b` with names that keep its shared variables apart; what compatible solutions fulfil; merged
        values."""
        names = {v: v for v in b.variables}
        conditions: list[str] = []
        merged: dict[str, str] = {}
        for v in a.variables:
            if v not in names or (v in a.certain and v in b.certain):
                continue
            other = names[v] = self._new("o")
            one_of = [f"{v} == {other}"]
            one_of += [f"{other} == {_NONE}"] if v not in b.certain else []
            one_of += [f"{v} == {_NONE}"] if v not in a.certain else []
            conditions.append(f"({' or '.join(one_of)})")
            if v not in a.certain:
                merged[v] = f"if ({v} == {_NONE}) {other} else {v}"
        return replace(b, variables=tuple(names.values())), conditions, merged

    def _joined(self, a: Solutions, b: Solutions, expression: Any = None) -> tuple[list[str], dict[str, str]]:
        """The body of a join, and the names of merged values in it."""
        other, conditions, merged = self._together(a, b)
        body = [a.atom, other.atom, *conditions]
        renamed: dict[str, str] = {}
        for v, value in merged.items():
            renamed[v] = self._new("m")
            body.append(f"var {renamed[v]} = {value}")
        if expression is not None:
            known = {v: renamed.get(v, v) for v in (*a.variables, *b.variables)}
            body.append(self._holds(expression, known))
        return body, renamed

    def _join(self, a: Solutions, b: Solutions) -> Solutions:
        b = self._apart(b)
        a = self._apart(a)
        body, renamed = self._joined(a, b)
        made = self._made((*a.variables, *b.variables), a.certain | b.certain, (*a.tags, *b.tags))
        self._rule(_renamed(made, renamed), *body)
        return made

    def _left_join(self, a: Solutions, b: Solutions, condition: Any) -> Solutions:
        a, b = self._apart(a), self._apart(b)
        expression = None if condition is None or _is_true(condition) else expression_of(condition)
        body, renamed = self._joined(a, b, expression)
        made = self._made((*a.variables, *b.variables), a.certain, (*a.tags, *b.tags))
        self._rule(_renamed(made, renamed), *body)
        missing = self._without(a, body)
        nothing = dict.fromkeys((*(v for v in b.variables if v not in a.variables), *b.tags), _NONE)
        self._rule(_renamed(made, nothing), a.atom, missing)
        return made

    def _without(self, a: Solutions, body: Sequence[str]) -> str:
        """That a solution has no partner, for a body that says what its partners are."""
        columns = (*a.variables, *a.tags)
        found = Solutions(self._relation(columns), a.variables, a.certain, a.tags)
        self._rule(found.atom, *body)
        return f"not {found.atom}"

    def _union(self, a: Solutions, b: Solutions) -> Solutions:
        tags = tuple(self._new("t") for _ in range(max(len(a.tags), len(b.tags)) + 1))
        made = self._made((*a.variables, *b.variables), a.certain & b.certain, tags)
        for number, part in enumerate((a, b)):
            own = replace(part, tags=tags[1 : len(part.tags) + 1])
            nothing = [v for v in made.variables if v not in part.variables] + [*tags[len(part.tags) + 1 :]]
            self._rule(_renamed(made, {**dict.fromkeys(nothing, _NONE), tags[0]: f'"{number}"'}), own.atom)
        return made

    def _minus(self, a: Solutions, b: Solutions) -> Solutions:
        shared = [v for v in a.variables if v in b.variables]
        if not shared:
            return a
        a, b = self._apart(a), self._apart(b)
        other, conditions, _ = self._together(a, b)
        names = dict(zip(b.variables, other.variables, strict=True))
        if not any(v in a.certain and v in b.certain for v in shared):
            bound = (f"({v} != {_NONE} and {names[v]} != {_NONE})" for v in shared)
            conditions.append(f"({' or '.join(bound)})")
        missing = self._without(a, [a.atom, other.atom, *conditions])
        made = self._made(a.variables, a.certain, a.tags)
        self._rule(made.atom, a.atom, missing)
        return made

    def _filter(self, found: Solutions, expression: Any) -> Solutions:
        made = self._made(found.variables, found.certain, found.tags)
        self._rule(made.atom, found.atom, self._holds(expression, {v: v for v in found.variables}))
        return made

    def _extend(self, found: Solutions, variable: Any, expression: Any) -> Solutions:
        name = self._name(variable)
        value = self._value(expression, found.variables)
        is_certain = expression[0] == "term" or (
            expression[0] == "var" and self.names.get(expression[1]) in found.certain
        )
        certain = found.certain | ({name} if is_certain else set())
        made = self._made((*found.variables, name), certain, found.tags)
        self._rule(made.atom, found.atom, f"var {name} = {value}")
        return made

    def _values(self, rows: Sequence[Any]) -> Solutions:
        names = list(dict.fromkeys(self._name(v) for row in rows for v in row))
        cells = [
            {self._name(v): "" if str(t) == "UNDEF" else term_of(t) for v, t in row.items()} for row in rows
        ]
        certain = [n for n in names if all(row.get(n) for row in cells)]
        made = self._made(names, certain, (self._new("t"),))
        for number, row in enumerate(cells):
            values = [*(quote(row.get(n, "")) for n in names), f'"{number}"']
            self._rule(f"{made.relation}({', '.join(values)})")
        return made

    def _project(self, found: Solutions, variables: Iterable[Any]) -> Solutions:
        """The variables that a subquery gives; the others only tell its solutions apart."""
        kept = list(dict.fromkeys(self._name(v) for v in variables))
        hidden = {v: self._new("h") for v in found.variables if v not in kept}
        shown = [v for v in kept if v in found.variables]
        tags = (*hidden.values(), *found.tags)
        made = self._made(shown, found.certain & set(shown), tags)
        own = replace(found, variables=tuple(hidden.get(v, v) for v in found.variables))
        self._rule(made.atom, own.atom)
        return made

    def _distinct(self, found: Solutions) -> Solutions:
        made = self._made(found.variables, found.certain, ())
        self._rule(made.atom, found.atom)
        return made

    # -- aggregates

    def _aggregates(self, node: Any) -> Solutions:
        """One row for each group. Its variables are the results; the keys only tell groups apart."""
        found = self.solutions(node.p.p)
        keys = self._keys(node.p.expr, found)
        results: list[str] = []
        body = [found.atom]
        empty: list[str] = []
        for part in node.A:
            function, value = self._aggregate(part, found)
            each, listed, result = self._new("e"), self._new("c"), self._name(part.res)
            body += [
                f"var {each} = {value}",
                f"var {listed} = {each}.group_by({', '.join(keys)}).collect_vec()",
                f"var {result} = sparql_aggregate({quote(function)}, {listed})",
            ]
            results.append(result)
            empty.append(quote(aggregate(function, [])))
        made = self._made(results, (), tuple(self._new("g") for _ in keys))
        self._rule(f"{made.relation}({', '.join((*results, *keys))})", *body)
        if node.p.expr is None:
            some = self._relation(())
            self._rule(f"{some}()", found.atom)
            self._rule(f"{made.relation}({', '.join(empty)})", f"not {some}()")
        return made

    def _keys(self, given: Any, found: Solutions) -> list[str]:
        from rdflib.term import Variable

        keys: list[str] = []
        for key in given or ():
            if not isinstance(key, Variable):
                raise unsupported("GROUP BY with an expression")
            name = self._name(key)
            if name in found.variables:
                keys.append(name)
        return list(dict.fromkeys(keys))

    def _aggregate(self, part: Any, found: Solutions) -> tuple[str, str]:
        """The function of an aggregate with its options, and the value of each solution."""
        function = _AGGREGATES.get(part.name)
        if function is None:
            raise unsupported(part.name.removeprefix("Aggregate_").upper())
        is_distinct = bool(part.distinct)
        separator = str(part.separator) if part.separator is not None else " "
        described = json.dumps([function, is_distinct, separator])
        if str(part.vars) == "*":
            if is_distinct:
                raise unsupported("COUNT(DISTINCT *)")
            return described, '"*"'
        return described, self._value(expression_of(part.vars), found.variables)

    # -- expressions

    def _holds(self, expression: Any, known: dict[str, str]) -> str:
        return self._call("sparql_holds", expression, known)

    def _value(self, expression: Any, variables: Iterable[str]) -> str:
        if expression[0] == "var":
            name = self.names.get(expression[1])
            return name if name is not None and name in variables else _NONE
        if expression[0] == "term":
            return quote(expression[1])
        return self._call("sparql_value", expression, {v: v for v in variables})

    def _call(self, function: str, expression: Any, known: dict[str, str]) -> str:
        used = [v for v in dict.fromkeys(variables_of(expression)) if self.names.get(v) in known]
        values = ", ".join(known[self.names[v]] for v in used)
        return f"{function}({quote(json.dumps([expression, used]))}, [{values}])"


def _renamed(found: Solutions, names: dict[str, str]) -> str:
    """The atom with other terms for some of its columns."""
    return f"{found.relation}({', '.join(names.get(c, c) for c in (*found.variables, *found.tags))})"


def _is_true(condition: Any) -> bool:
    """Whether the condition of an OPTIONAL is the one that rdflib adds where there is none."""
    return getattr(condition, "name", "") == "TrueFilter"
