"""Programs and their strata as text: the output of `tidelog show program` and `tidelog show strata`."""

from __future__ import annotations

from tidelog.program.analysis.strata import reads
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.folds import is_part, written_name
from tidelog.program.model import Program
from tidelog.program.text import print_alias, print_function, print_index, print_relation, print_rule
from tidelog.program.typed import Stratum
from tidelog.syntax import tree
from tidelog.syntax.printer import print_item

__all__ = ["declared_functions", "describe_program", "describe_strata", "expanded"]


def describe_program(program: Program) -> str:
    """Declarations and rules with names and types resolved, in the syntax of the language."""
    parts = [
        _types(program),
        [print_relation(r) for r in program.relations.values()],
        [print_index(i, program.relations[i.relation]) for i in program.indexes.values()],
        [
            print_function(f) if isinstance(f, Function) else f"// {f.name}: Python, {f.module}.{f.qualname}"
            for f in declared_functions(program)
        ]
        + [print_item(item) for item in expanded(program)]
        + [print_item(item) for item in program.folds.values()],
        [print_rule(r) for r in program.rules.values()],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def declared_functions(program: Program) -> list[Function | PythonFunction]:
    """The functions as declared: without instances of generic ones, and parts of aggregates with a state."""
    return [
        f
        for name, f in program.functions.items()
        if written_name(name) == name and not is_part(name, program.folds)
    ]


def expanded(program: Program) -> list[tree.Function]:
    """The functions that are expanded where they are called, as written."""
    forms = (form for forms in program.templates.values() for form in forms)
    return [form for form in forms if not is_part(form.name, program.folds)]


def _types(program: Program) -> list[str]:
    """The definitions as written, and aliases of which only the type is known."""
    others = {name: type_ for name, type_ in program.aliases.items() if name not in program.types}
    written = [print_item(item) for item in program.types.values()]
    return [print_alias(name, type_) for name, type_ in others.items()] + written


def describe_strata(program: Program) -> str:
    """One line per stratum, in evaluation order, with the relations it reads."""
    lines: list[str] = []
    width = max((len(", ".join(sorted(s.relations))) for s in program.strata), default=0)
    for number, stratum in enumerate(program.strata, start=1):
        names = ", ".join(sorted(stratum.relations))
        lines.append(f"{number:>3}  {names:<{min(width, 40)}}  {_about(program, stratum)}".rstrip())
    return "\n".join(lines)


def _about(program: Program, stratum: Stratum) -> str:
    roles = {program.relations[name].role.value for name in stratum.relations}
    parts = sorted(roles - {"internal"})
    if stratum.rules:
        count = len(stratum.rules)
        parts.append(f"{count} rule{'s' * (count != 1)}")
    if stratum.recursive:
        parts.append("recursive")
    for name, best in stratum.best:
        column = program.relations[name].columns[best.column].name
        parts.append(f"keeps the {best.function} of {name}.{column} per key")
    for name, total in () if stratum.totals is None else stratum.totals.kept:
        column = program.relations[name].columns[total.column].name
        parts.append(f"keeps the {total.function} of {name}.{column} per key")
    others = dict.fromkeys(
        f"not {name}" if how == "not" else name
        for rule in stratum.rules
        for name, how in reads(rule)
        if name not in stratum.relations
    )
    if others:
        parts.append(f"reads {', '.join(others)}")
    return "; ".join(parts)
