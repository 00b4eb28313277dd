"""The program as a value, and the difference between two programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from weakref import ref

from tidelog.data.short_names import NO_NAMES, ShortNames
from tidelog.data.types import Type
from tidelog.errors import Diagnostic
from tidelog.program.analysis.strata import Strata
from tidelog.program.declared import Function, PythonFunction, Relation
from tidelog.program.declared import Index as ColumnIndex
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.definitions import Definition
from tidelog.program.typed import Rule, Stratum
from tidelog.syntax import tree

__all__ = ["EMPTY", "Difference", "Index", "Program", "RuleChange", "difference", "rule_changes"]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """The rules that were added to and removed from another program, by their identities."""

    base: ref[Program]
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """The rules, declarations, strata and warnings of a program, as a draft continues them."""

    rules: Mapping[str, Rule]
    declared: Declarations
    strata: Strata
    warnings: Mapping[Diagnostic, None]
    change: RuleChange | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Program:
    """A typed, safe, stratified program. Rules are identified by their canonical form.

    `types` are the definitions of types as written, and `aliases` the types of aliases without parameters.
    `templates` are the functions that are expanded where they are called, as written. `rows` are the types of
    the rows of relations, with columns as written: the identity of a type depends on how it is written.
    `folds` are the aggregates with a state, as written; their functions are among the others. `index` is what
    the next program is made from, if it differs little. `written` is the program that this one was made from,
    if it has relations of other kinds (see `weighting`). `names` are those by which people see terms of RDF.
    """

    relations: Mapping[str, Relation] = field(default_factory=dict)
    aliases: Mapping[str, Type] = field(default_factory=dict)
    functions: Mapping[str, Function | PythonFunction] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    strata: tuple[Stratum, ...] = ()
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)
    index: Index | None = field(default=None, compare=False, repr=False)
    types: Mapping[str, Definition] = field(default_factory=dict)
    templates: Mapping[str, tuple[tree.Function, ...]] = field(default_factory=dict)
    rows: Mapping[str, tree.TypeDefinition] = field(default_factory=dict, compare=False)
    indexes: Mapping[str, ColumnIndex] = field(default_factory=dict)
    folds: Mapping[str, tree.Fold] = field(default_factory=dict)
    written: Program | None = field(default=None, compare=False, repr=False)
    names: ShortNames = field(default=NO_NAMES, compare=False)

    def __post_init__(self) -> None:
        known = self.index
        if known is not None and (
            known.rules is not self.rules or known.declared.relations is not self.relations
        ):
            object.__setattr__(self, "index", None)  # it is of another program

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled without its index, which is made again."""
        parts = (self.relations, self.aliases, self.functions, self.rules, self.strata, self.warnings)
        more = (self.types, self.templates, self.rows, self.indexes, self.folds)
        return Program, (*parts, None, *more, None, self.names)


EMPTY = Program()


@dataclass(frozen=True, slots=True)
class Difference:
    """What only one of two programs has. `strata` are the strata that only the new program has."""

    declared: tuple[Relation, ...]
    dropped: tuple[Relation, ...]
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    strata: tuple[Stratum, ...]

    def __bool__(self) -> bool:
        return bool(self.declared or self.dropped or self.added or self.removed)


def rule_changes(old: Program, new: Program) -> tuple[Collection[str], Collection[str]]:
    """The rules that only the new and only the old program has, by their identities."""
    known = None if new.index is None else new.index.change
    if known is not None and known.base() is old:
        return known.added, known.removed
    return new.rules.keys() - old.rules.keys(), old.rules.keys() - new.rules.keys()


def difference(old: Program, new: Program) -> Difference:
    """The changes that turn the old program into the new one."""
    before = set(old.strata)
    return Difference(
        tuple(r for name, r in new.relations.items() if name not in old.relations),
        tuple(r for name, r in old.relations.items() if name not in new.relations),
        tuple(r for id_, r in new.rules.items() if id_ not in old.rules),
        tuple(r for id_, r in old.rules.items() if id_ not in new.rules),
        tuple(s for s in new.strata if s not in before),
    )
