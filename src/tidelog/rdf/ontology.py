"""The axioms of an ontology, in the few forms that OWL has once its abbreviations are expanded.

An *expression* describes a class. An axiom says that one class expression includes another, or that a path
along properties implies a property. Everything else reduces to these: a domain is `∃p.⊤ ⊑ C`, a range
`∃p⁻.⊤ ⊑ C`, an equivalence two inclusions, an inverse `p ⊑ q⁻` and `q⁻ ⊑ p`, a symmetric property `p⁻ ⊑ p`, a
transitive one `p·p ⊑ p`.

`said` is the statement of the ontology that an axiom comes from, for messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from tidelog.rdf.terms import short

__all__ = [
    "CONTRADICTION",
    "EQUALITY",
    "THING",
    "All",
    "Axiom",
    "Complement",
    "Datatype",
    "Expression",
    "HasValue",
    "Included",
    "Intersection",
    "LeftOut",
    "Named",
    "OneOf",
    "Other",
    "Path",
    "Role",
    "Some",
    "Union",
    "describe",
    "describe_role",
]


# the parts of OWL without reasoning, in whatever form they are stated
EQUALITY: Final = "it implies that names are equal, and reasoning about equality is not supported"
CONTRADICTION: Final = "it only states contradictions, which are not checked"


@dataclass(frozen=True, slots=True)
class Role:
    """A property, or its inverse."""

    term: str
    inverse: bool = False

    def inverted(self) -> Role:
        return Role(self.term, not self.inverse)


# -- expressions


@dataclass(frozen=True, slots=True)
class Named:
    term: str


@dataclass(frozen=True, slots=True)
class Intersection:
    """⊤ if it has no parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """⊥ if it has no parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Individuals that have some value of a property in the class `of`."""

    role: Role
    of: Expression


@dataclass(frozen=True, slots=True)
class All:
    """Individuals whose values of a property are all in the class `of`."""

    role: Role
    of: Expression


@dataclass(frozen=True, slots=True)
class HasValue:
    role: Role
    value: str


@dataclass(frozen=True, slots=True)
class Complement:
    of: Expression


@dataclass(frozen=True, slots=True)
class Datatype:
    """A class of literals."""

    term: str


@dataclass(frozen=True, slots=True)
class Other:
    """An expression of none of these forms, with its problem."""

    problem: str


Expression: TypeAlias = (
    Named | Intersection | Union | OneOf | Some | All | HasValue | Complement | Datatype | Other
)
THING = Intersection(())


def describe(expression: Expression) -> str:
    """An expression for people, similar to the Manchester syntax of OWL."""
    match expression:
        case Named(term) | Datatype(term):
            return short(term)
        case Intersection(parts):
            return _joined(" and ", parts) if parts else "owl:Thing"
        case Union(parts):
            return _joined(" or ", parts) if parts else "owl:Nothing"
        case OneOf(terms):
            return f"{{{', '.join(map(short, terms))}}}"
        case Some(role, of):
            return f"({describe_role(role)} some {describe(of)})"
        case All(role, of):
            return f"({describe_role(role)} only {describe(of)})"
        case HasValue(role, value):
            return f"({describe_role(role)} value {short(value)})"
        case Complement(of):
            return f"(not {describe(of)})"
        case Other():
            return "(an expression)"
        case _:
            assert_never(expression)


def describe_role(role: Role) -> str:
    return f"inverse of {short(role.term)}" if role.inverse else short(role.term)


def _joined(word: str, parts: tuple[Expression, ...]) -> str:
    return describe(parts[0]) if len(parts) == 1 else f"({word.join(map(describe, parts))})"


# -- axioms


@dataclass(frozen=True, slots=True)
class Included:
    """`left ⊑ right`"""

    left: Expression
    right: Expression
    said: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Path:
    """`first · … · last ⊑ right`: the ends of a path along the properties are related by `right`."""

    left: tuple[Role, ...]
    right: Role
    said: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A statement, or a part of one, that no rule expresses."""

    said: str
    problem: str

    def __str__(self) -> str:
        return f"{self.said}: {self.problem}"


Axiom: TypeAlias = Included | Path
