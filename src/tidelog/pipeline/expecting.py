"""Whether a spec fits its program: relations, roles, columns, and the values of migrations."""

from __future__ import annotations

from tidelog.errors import PipelineError
from tidelog.pipeline.formats import format_of
from tidelog.pipeline.migrating import problems_of_migration
from tidelog.pipeline.sink_modes import problems_of_columns
from tidelog.pipeline.source_spec import Source, problems_of_events
from tidelog.pipeline.spec import Spec
from tidelog.program.declared import Relation, Role
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.program.model import Program
from tidelog.program.weighting import delays, is_weighted

__all__ = ["expect_relations"]


def expect_relations(spec: Spec, program: Program) -> None:
    """Raise PipelineError if relations, roles or columns of the spec don't match the program."""
    problems: list[str] = []
    groups = (("sources", spec.sources), ("streams", spec.streams))
    for kind, sources in groups:
        for name, source in sources.items():
            problems += _problems_of_source(f"{kind}.{name}", source, program)
    for sink in spec.sinks:
        relation = program.relations.get(sink.relation)
        if relation is None:
            problems.append(f"{sink.name}: {_unknown(sink.relation, program, None)}")
        else:
            problems += problems_of_columns(sink, relation)
    for name, migration in spec.migrations.items():
        relation = program.relations.get(name)
        if relation is None or relation.role is not Role.INPUT:
            problems.append(f"migrations.{name}: {_unknown(name, program, Role.INPUT)}")
        else:
            problems += problems_of_migration(f"migrations.{name}", migration, relation)
    fed = {*spec.sources, *spec.streams}
    problems += [
        f"sources.{r.name}: is missing; {spec.program} declares this input relation; write [sources.{r.name}]"
        for r in program.relations.values()
        if r.role is Role.INPUT and r.name not in fed
    ]
    problems += [f"program: {problem}" for problem in _unsupported(program)]
    if problems:
        raise PipelineError("\n".join(f"{spec.name}: {problem}" for problem in problems))


def _unsupported(program: Program) -> list[str]:
    """What a store cannot hold: weights, and what relations were in earlier commits."""
    problems = [
        f"`{r.name}` is a {r.kind.value}; pipelines only support relations"
        for r in program.relations.values()
        if is_weighted(r)
    ]
    versions = sorted({f"`{r}-{n}`" for r, n in delays(program).values()})
    return problems + [f"{v} reads an earlier commit, which pipelines do not support" for v in versions]


def _problems_of_source(key: str, source: Source, program: Program) -> list[str]:
    relation = program.relations.get(source.relation)
    if relation is None or relation.role is not Role.INPUT:
        return [f"{key}: {_unknown(source.relation, program, Role.INPUT)}"]
    if any(head.relation == relation.name for rule in program.rules.values() for head in rule.heads):
        return [f"{key}: rules also derive `{relation.name}`; let them derive another relation"]
    names = [c.name for c in relation.columns]
    unknown = [n for n in source.columns if n not in names]
    problems = [
        f"{key}.columns.{n}: unknown column of {relation.name}; "
        f"{did_you_mean(n, names) or 'the columns are ' + ', '.join(names)}"
        for n in unknown
    ]
    problems += problems_of_events(key, source, relation)
    wanted = format_of(source.format).width
    if wanted is not None and (len(names) != wanted or not _only_text(relation)):
        problems.append(
            f"{key}.format: {source.format} gives {wanted} column{'s' * (wanted != 1)} of text; "
            f"declare {relation.name} with {wanted} of type string"
        )
    return problems


def _only_text(relation: Relation) -> bool:
    return all(str(c.type) == "string" for c in relation.columns)


def _unknown(name: str, program: Program, role: Role | None) -> str:
    known = [r.name for r in program.relations.values() if role is None or r.role is role]
    what = "relation" if role is None else f"{role.value} relation"
    hint = did_you_mean(name, known) or f"it has {', '.join(known) or 'none'}"
    return f"the program has no {what} `{name}`; {hint}"
