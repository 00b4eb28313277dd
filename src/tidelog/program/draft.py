"""Drafts: the changes of a transaction to a program before they are committed.

Names, types and safety are checked when something is added; a text with an error adds nothing. Stratification
is checked at the end (`finish`), since only the final program must be stratifiable: rules can be added and
removed in any order before that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from weakref import ref

from tidelog.data.overlay import copied
from tidelog.errors import NOWHERE, Diagnostic, ProgramError, Severity, Source, Span, sort
from tidelog.program.analysis.calls import calls
from tidelog.program.analysis.kinds import atoms_of, check_kinds
from tidelog.program.analysis.strata import Strata, restratify, stratify
from tidelog.program.declared import Function, PythonFunction, Relation
from tidelog.program.elaborate.declarations import Declarations, declare, needed_row_types
from tidelog.program.elaborate.definitions import resolve_type
from tidelog.program.elaborate.folds import check_folds, declare_folds
from tidelog.program.elaborate.functions import elaborate_functions, from_python
from tidelog.program.elaborate.imperative import Expansion, expanded
from tidelog.program.elaborate.indexes import declare_indexes
from tidelog.program.elaborate.instances import add_cycles, recursive_templates
from tidelog.program.elaborate.lint import warn, warn_single_variables
from tidelog.program.elaborate.problems import Problems, did_you_mean, expect_text
from tidelog.program.elaborate.rules import elaborate_rule
from tidelog.program.elaborate.typedefs import restored
from tidelog.program.library.catalog import REPLACEABLE_NAMES
from tidelog.program.model import EMPTY, Index, Program, RuleChange
from tidelog.program.modules import Texts, folders, resolve
from tidelog.program.query import Query, elaborate_query
from tidelog.program.text import type_tree
from tidelog.program.typed import Rule
from tidelog.syntax import tree
from tidelog.syntax.parser import read

__all__ = ["Draft", "check", "examined", "load"]

Elaborate = Callable[[tree.Rule, Declarations, Problems], Rule | None]

# After one of these errors, a name that looks unused may only be misspelt where it is used.
_UNKNOWN_NAMES = frozenset(["E101", "E103", "E108", "E118"])
_OF_NAMES = _UNKNOWN_NAMES | {"E406"}
_DECLARED = re.compile(r"\b(?:function|aggregate|relation|multiset|stream|typedef)\s+(`[^`]+`|[\w:]+)")
_UNKNOWN_MODULES = frozenset(["E122", "E123"])


class Draft:
    def __init__(
        self, program: Program = EMPTY, search: Sequence[Path] = (), texts: Texts = MappingProxyType({})
    ) -> None:
        """`search` are the folders in which imported modules are found; `texts` replace files."""
        self.search = tuple(search)
        self.texts = texts
        self._before = program
        known = program.index
        self._declared = _declarations(program) if known is None else known.declared
        self._added: dict[str, Rule] = {}
        self._removed: dict[str, Rule] = {}
        self._warnings: Mapping[Diagnostic, None]  # never changed in place
        self._warnings = dict.fromkeys(program.warnings) if known is None else known.warnings

    def copy(self) -> Draft:
        """An independent draft with the same state."""
        new = Draft(search=self.search, texts=self.texts)
        new._before = self._before
        new._declared = self._declared  # never changed in place
        new._added, new._removed = dict(self._added), dict(self._removed)
        new._warnings = self._warnings
        return new

    def register(self, function: Callable[..., object], name: str | None = None) -> PythonFunction:
        """Make a Python function callable from rules; its types come from its annotations."""
        made = from_python(function, name)
        before = self._declared.functions.get(made.name)
        if made.name in self._declared.calls and before != made:
            message = f"the function `{made.name}` already exists"
            raise ProgramError([Diagnostic("E112", NOWHERE, message)])
        declared = self._declared.copy()
        declared.add_function(made)
        self._expect_unused(declared)
        self._declared = declared
        return made

    def load(self, text: str, name: str = "<text>", line: int = 1) -> tuple[Rule, ...]:
        """Add the declarations and rules of a text; return its rules, new or not. An error adds nothing."""
        return tuple(self._load(self._source(text, name, line), one=False))

    def read(self, text: str, name: str = "<text>", line: int = 1) -> tuple[Rule, ...]:
        """The rules of a text, equal ones too, which are not added. Raises ProgramError."""
        _, rules, problems = self._elaborate(self._source(text, name, line), keeps_all=True)
        _raise_errors(problems)
        return tuple(rules)

    def add_rule(self, text: str, name: str = "<rule>") -> Rule:
        """Add one rule."""
        return self._load(self._source(text, name), one=True)[0]

    def remove_rule(self, rule: Rule | str) -> Rule:
        """Remove a rule, given as itself, its identity or its text. Raises ProgramError if it is unknown."""
        if isinstance(rule, str):
            rule = self._rule(rule) or self._one_rule(rule)
        found = self._rule(rule.id)
        if found is None:
            hint = "rules are the same if they differ only in the names of variables; `db.rules` lists all"
            raise ProgramError(
                [Diagnostic("E113", rule.span, "the program does not contain this rule", hint=hint)]
            )
        if self._added.pop(rule.id, None) is None:
            self._removed[rule.id] = found
        return found

    def drop(self, relation: str) -> None:
        """Remove the declaration of a relation that no rule uses."""
        if relation not in self._declared.relations:
            hint = did_you_mean(relation, self._declared.relations)
            message = f"unknown relation `{relation}`"
            raise ProgramError([Diagnostic("E101", NOWHERE, message, hint=hint)])
        users = [r for r in self._rules().values() if relation in _mentioned(r)]
        if users:
            raise ProgramError(
                [Diagnostic("E114", r.span, f"this rule still uses `{relation}`") for r in users]
            )
        self._declared = self._declared.copy()
        del self._declared.relations[relation]
        del self._declared.known[relation]
        self._declared.rows.pop(relation, None)
        for name in [n for n, index in self._declared.indexes.items() if index.relation == relation]:
            del self._declared.indexes[name]

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations declared so far."""
        return MappingProxyType(self._declared.relations)

    @property
    def functions(self) -> Mapping[str, Function | PythonFunction]:
        """The functions declared so far, without those that are expanded where they are called."""
        return MappingProxyType(self._declared.functions)

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules so far, by their identities."""
        return MappingProxyType(self._rules())

    def redeclared(self, program: Program) -> list[tuple[str, Relation]]:
        """The relations of a program that have another declaration here."""
        known, here = program.relations, self._declared.relations
        if here is known:
            return []
        return [(name, new) for name, new in here.items() if known.get(name, new) is not new]

    def query(
        self, text: str, parameters: Mapping[str, object] | None = None, name: str = "<query>"
    ) -> Query:
        """The rule body of a text as a query. It is not added to the draft."""
        problems = Problems()
        query = elaborate_query(self._source(text, name), self._declared, problems, parameters)
        _raise_errors(problems)
        assert query is not None
        return query

    def finish(self) -> Program:
        """The program in its current state. Raises ProgramError if it cannot be stratified."""
        problems = Problems()
        program = self._program(problems)
        _raise_errors(problems)
        return program

    # -- for texts that are edited

    def declarations(self) -> Declarations:
        """A copy of what is declared."""
        return self._declared.copy()

    def examined(self, declared: Declarations, rules: Iterable[Rule], problems: Problems) -> Program:
        """The program with these declarations and rules, which may have errors. It is not added."""
        draft = self.copy()
        draft._accept(declared, rules, problems)
        return draft._program(problems)

    # -- internals

    def _source(self, text: str, name: str, line: int = 1) -> Source:
        return Source(name, text, line, self._declared.names.prefixes)

    def _one_rule(self, text: str) -> Rule:
        _, rules, problems = self._elaborate(self._source(text, "<rule>"))
        _raise_errors(problems)
        _expect_one(rules, text)
        return rules[0]

    def _load(self, source: Source, *, one: bool) -> list[Rule]:
        declared, rules, problems = self._elaborate(source)
        _raise_errors(problems)
        self._expect_unused(declared)
        if one:
            _expect_one(rules, source.text)
        self._accept(declared, rules, problems)
        return rules

    def _expect_unused(self, declared: Declarations) -> None:
        """Raise ProgramError if a new function would replace a standard one that the program calls."""
        before = self._declared
        known, old = ({**d.functions, **d.templates} for d in (declared, before))
        new = [name for name in REPLACEABLE_NAMES if name in known and name not in old]
        if not new:
            return
        rules = (*self._before.rules.values(), *self._added.values())
        templates = (form for forms in before.templates.values() for form in forms)
        used = set().union(*map(calls, (*rules, *before.functions.values(), *templates)))
        message = "`{}` is a standard function that the program already calls"
        problems = [Diagnostic("E112", NOWHERE, message.format(name)) for name in new if name in used]
        if problems:
            raise ProgramError(problems)

    def _accept(self, declared: Declarations, rules: Iterable[Rule], problems: Problems) -> None:
        self._declared = declared
        for rule in rules:
            if self._rule(rule.id) is None:
                self._added[rule.id] = rule
        warnings = [d for d in problems.found if d.severity is Severity.WARNING]
        if warnings:
            self._warnings = {**self._warnings, **dict.fromkeys(warnings)}

    def _rule(self, id_: str) -> Rule | None:
        """The rule with an identity, if there is one now."""
        if id_ in self._added:
            return self._added[id_]
        return None if id_ in self._removed else self._before.rules.get(id_)

    def _rules(self) -> Mapping[str, Rule]:
        rules = copied(self._before.rules)
        for id_ in self._removed:
            del rules[id_]
        rules.update(self._added)
        return rules

    def _program(self, problems: Problems) -> Program:
        rules = self._rules()
        strata = self._strata(rules, problems)
        check_kinds(self._declared.relations, self._added.values(), strata, problems)
        change = RuleChange(ref(self._before), tuple(self._added), tuple(self._removed))
        return Program(
            self._declared.relations,
            self._declared.types.aliases,
            self._declared.functions,
            rules,
            strata.strata,
            tuple(self._warnings),
            Index(rules, self._declared, strata, self._warnings, change),
            self._declared.types.items,
            self._declared.templates,
            self._declared.rows,
            self._declared.indexes,
            self._declared.folds,
            names=self._declared.names,
        )

    def _strata(self, rules: Mapping[str, Rule], problems: Problems) -> Strata:
        before, relations = self._before, self._declared.relations
        if before.index is None:
            return stratify(relations, rules, problems)
        added, removed = list(self._added.values()), list(self._removed.values())
        is_redeclared = relations is not before.relations
        return restratify(
            before.index.strata,
            relations,
            rules,
            added,
            removed,
            problems,
            is_redeclared=is_redeclared,
        )

    def _elaborate(
        self, source: Source, *, keeps_all: bool = False
    ) -> tuple[Declarations, list[Rule], Problems]:
        problems = Problems()
        written, unread = read(source)
        resolved, unresolved = resolve(written, source, self.search, self.texts)
        unread += unresolved
        problems.found += unread
        expansion = expanded(resolved.items, problems)
        program = replace(resolved, items=expansion.items)
        declared = self._declared
        is_rules = all(isinstance(item, tree.Rule) for item in program.items)
        makes_instances = bool(declared.recursive) or any(f.type_parameters for f in declared.folds.values())
        if not is_rules or makes_instances or needed_row_types(program.items, declared):
            declared = declared.copy()
            declare_all(program.items, declared, problems)
        rules = elaborate_rules(expansion, declared, problems, keeps_all=keeps_all)
        if declared.recursive:
            add_cycles(declared)
        if any(d.code in _UNKNOWN_MODULES for d in unresolved):
            # names of a module that could not be read are unknown for no other reason
            problems.found = [
                d for d in problems.found if d.code not in _UNKNOWN_NAMES or "::" not in d.message
            ]
        if unread:
            problems.found = without_unread(problems.found, source)
        if not unread and knows_all_names(problems):
            _warn(program, source, problems)
        return declared, rules, problems


def declare_all(items: Sequence[tree.Item], declared: Declarations, problems: Problems) -> None:
    """Add everything that the items declare."""
    functions = declare(items, declared, problems)
    functions += declare_folds(items, declared, problems)
    elaborate_functions(functions, declared, problems)
    check_folds(items, declared, problems)
    declare_indexes(items, declared, problems)


def knows_all_names(problems: Problems) -> bool:
    """Whether no name is unknown; otherwise a name that looks unused may only be misspelt."""
    return not any(d.code in _UNKNOWN_NAMES for d in problems.found)


def without_unread(found: Iterable[Diagnostic], source: Source) -> list[Diagnostic]:
    """The diagnostics but those about names whose declarations have syntax errors."""
    declared = {name.strip("`") for name in _DECLARED.findall(source.text)}
    unknown = {f"`{name}`" for name in declared}
    return [
        d for d in found if d.code not in _OF_NAMES or d.message.split(" in ")[0].split()[-1] not in unknown
    ]


def _declarations(program: Program) -> Declarations:
    types = restored(program.aliases, program.types)
    declared = Declarations(types=types, templates=dict(program.templates), rows=dict(program.rows))
    declared.indexes |= program.indexes
    declared.folds |= program.folds
    declared.names = program.names
    declared.recursive |= {name for group in recursive_templates(program.templates)[0] for name in group}
    for relation in program.relations.values():
        declared.add_relation(relation)
        for type_ in (*(c.type for c in relation.columns), *([relation.row] if relation.row else [])):
            resolve_type(type_tree(type_), types, Problems())  # makes the instances that it needs
    for function in program.functions.values():
        declared.add_function(function)
    return declared


def _raise_errors(problems: Problems) -> None:
    errors = [d for d in problems.found if d.severity is Severity.ERROR]
    if errors:
        raise ProgramError(errors)


def _expect_one(rules: Sequence[Rule], text: str) -> None:
    if len(rules) != 1:
        message = f"expected one rule, found {len(rules)} in `{text}`"
        hint = "load it with `load`, which returns its rules" if len(rules) > 1 else None
        raise ProgramError([Diagnostic("E003", NOWHERE, message, hint=hint)])


def elaborate_rules(
    expansion: Expansion,
    declared: Declarations,
    problems: Problems,
    *,
    keeps_all: bool = False,
    elaborate: Elaborate = elaborate_rule,
) -> list[Rule]:
    """The rules among the items. `elaborate` makes one, or remembers it."""
    rules: dict[str, Rule] = {}
    found: list[Rule] = []
    for item in expansion.items:
        if not isinstance(item, tree.Rule):
            continue
        rule = elaborate(item, declared, problems)
        if rule is None:
            # a rule that is left out without a report would be a wrong answer
            assert any(d.severity is Severity.ERROR for d in problems.found), item.span.text
            continue
        if id(item) not in expansion.parts:
            warn_single_variables(item, problems)
        found.append(rule)
        if rule.id in rules:
            first = rules[rule.id].span
            problems.report(
                "W006",
                item.span,
                "this rule duplicates an earlier rule",
                note=f"the earlier rule is at {first!r}",
            )
        else:
            rules[rule.id] = rule
    for whole in expansion.wholes:
        if not any(d.severity is Severity.ERROR and _is_inside(d.span, whole.span) for d in problems.found):
            warn_single_variables(whole, problems)
    if expansion.parts:  # what is around several heads has one mistake, not one for each
        problems.found = list(dict.fromkeys(problems.found))
    return found if keeps_all else list(rules.values())


def _is_inside(part: Span, whole: Span) -> bool:
    return part.source is whole.source and whole.start <= part.start and part.end <= whole.end


def _warn(program: tree.Program, source: Source, problems: Problems) -> None:
    """Add the warnings for a text. Modules that it imports may have more than it needs."""
    found = Problems()
    warn(program, found)
    problems.found += [d for d in found.found if d.span.source is source]


def _mentioned(rule: Rule) -> set[str]:
    return {atom.relation for atom in atoms_of(rule)} | {h.relation for h in rule.heads}


def load(
    text: str,
    name: str = "<text>",
    functions: Iterable[Callable[..., object]] = (),
    *,
    search: Iterable[str | os.PathLike[str]] = (),
) -> Program:
    """The program of a text. Raises a ProgramError with all errors of the text.

    Modules that it imports are searched in the folder of the file `name`, if there is one, and in `search`.
    """
    expect_text("load", text)
    program, problems = _elaborated(text, name, functions, search)
    _raise_errors(problems)
    return program


def check(
    text: str,
    name: str = "<text>",
    functions: Iterable[Callable[..., object]] = (),
    *,
    search: Iterable[str | os.PathLike[str]] = (),
) -> tuple[Diagnostic, ...]:
    """All errors and warnings for a text, sorted by position."""
    expect_text("check", text)
    return sort(_elaborated(text, name, functions, search)[1].found)


def examined(
    text: str,
    name: str,
    functions: Iterable[Callable[..., object]] = (),
    search: Iterable[str | os.PathLike[str]] = (),
    texts: Texts = MappingProxyType({}),
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """The program as far as it can be elaborated, and all errors and warnings for its text."""
    program, problems = _elaborated(text, name, functions, search, texts)
    return program, sort(problems.found)


def _elaborated(
    text: str,
    name: str,
    functions: Iterable[Callable[..., object]],
    search: Iterable[str | os.PathLike[str]],
    texts: Texts = MappingProxyType({}),
) -> tuple[Program, Problems]:
    """The program as far as it can be elaborated, with its strata, and all diagnostics."""
    draft = Draft(search=folders(search), texts=texts)
    for function in functions:
        draft.register(function)
    declared, rules, problems = draft._elaborate(Source(name, text))
    draft._accept(declared, rules, problems)
    return draft._program(problems), problems
