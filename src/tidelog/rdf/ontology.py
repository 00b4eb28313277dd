"""What an ontology says, in the few forms that OWL has once its abbreviations are written out.

A class is described by an *expression*; an axiom says that what is described by one expression is described
by another, or that a path along properties is a property. All else is one of these: a domain is `∃p.⊤ ⊑ C`, a
range `∃p⁻.⊤ ⊑ C`, an equivalence two inclusions, an inverse `p ⊑ q⁻` and `q⁻ ⊑ p`, a symmetric property
`p⁻ ⊑ p`, a transitive one `p·p ⊑ p`.

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


# what of OWL is not reasoned about, in whatever form it is said
EQUALITY: Final = "it says which names mean the same thing, and equality is not reasoned about"
CONTRADICTION: Final = "it only tells contradictions, and these are not looked for"


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
    """What has a value along a property that is described by another expression."""

    role: Role
    of: Expression


@dataclass(frozen=True, slots=True)
class All:
    """What has no value along a property but those described by another expression."""

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
    """An expression that has none of these forms, and what is the matter with it."""

    problem: str


Expression: TypeAlias = (
    Named | Intersection | Union | OneOf | Some | All | HasValue | Complement | Datatype | Other
)
THING = Intersection(())


def describe(expression: Expression) -> str:
    """An expression for people, in the manner of OWL's Manchester syntax."""
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
    """`first · … · last ⊑ right`: whatever a path along properties leads to, `right` does as well."""

    left: tuple[Role, ...]
    right: Role
    said: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A statement, or a part of one, that no rule stands for."""

    said: str
    problem: str

    def __str__(self) -> str:
        return f"{self.said}: {self.problem}"


Axiom: TypeAlias = Included | Path
