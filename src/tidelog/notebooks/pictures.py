"""What can be drawn of a session: dependencies, strata, plans, relations and explanations."""

from __future__ import annotations

from tidelog.notebooks.graphs import MOST, Edge, Graph, Node, Picture, text_picture
from tidelog.program.analysis.strata import reads
from tidelog.program.declared import Role
from tidelog.proofs.drawing import Drawing, Line
from tidelog.session import Facts, Session
from tidelog.session.rendering import counted

__all__ = ["dependencies", "explanation", "plan", "relation", "strata"]


def dependencies(db: Session) -> Picture:
    """The relations, and an arrow to each that rules derive from another.

    The arrow is dashed, with a word, if the other must be complete before: for negations and aggregates.
    """
    program = db.program
    places = {name: i for i, name in enumerate(program.relations)}
    nodes = [
        Node(
            name,
            f"{relation.role.value} {name}".strip(),
            relation.role is Role.OUTPUT,
            relation.role is Role.INPUT,
        )
        for name, relation in program.relations.items()
    ]
    edges: dict[tuple[int, int], str] = {}
    for rule in program.rules.values():
        for head in rule.heads:
            for name, how in reads(rule):
                key = places[name], places[head.relation]
                edges[key] = edges.get(key, "") or how
    drawn = [Edge(source, target, how, bool(how)) for (source, target), how in edges.items()]
    return Graph(nodes, drawn, "dependencies").picture()


def strata(db: Session) -> Picture:
    """The strata in their order of evaluation, and what each reads."""
    program = db.program
    owners = {name: i for i, stratum in enumerate(program.strata) for name in stratum.relations}
    nodes = [
        Node(
            ", ".join(sorted(s.relations)) + (" ↻" if s.recursive else ""),
            counted(len(s.rules), "rule") + (", recursive" if s.recursive else ""),
            any(program.relations[name].role is Role.OUTPUT for name in s.relations),
            not s.rules,
        )
        for s in program.strata
    ]
    found = {
        (owners[name], i): None
        for i, s in enumerate(program.strata)
        for rule in s.rules
        for name, _ in reads(rule)
        if owners[name] != i
    }
    return Graph(nodes, [Edge(*pair) for pair in found], "strata").picture()


def plan(db: Session) -> Picture:
    """The join orders of the rules, as `db.plan()` prints them."""
    return text_picture(db.plan(), "plan")


def relation(facts: Facts) -> Picture:
    """Rows as a graph: an arrow from the first column to the second, with the others beside it.

    Rows of one column are nodes without arrows. The first rows are drawn, as many as fit.
    """
    rows = facts.shown(4 * MOST)
    nodes: dict[str, int] = {}
    edges: list[Edge] = []
    drawn = 0
    for row in rows:
        ends = row[:2]
        if len({*nodes, *ends}) > MOST:
            break
        places = [nodes.setdefault(end, len(nodes)) for end in ends]
        if len(places) == 2:
            edges.append(Edge(places[0], places[1], ", ".join(row[2:])))
        drawn += 1
    more = f"{len(facts) - drawn:,} more rows not shown" if len(facts) > drawn else ""
    return Graph([Node(label) for label in nodes], edges, facts.titled()[0], more).picture()


def explanation(drawing: Drawing) -> Picture:
    """A proof or a refutation: each step with an arrow to what it rests on. Shared steps are drawn once."""
    root = drawing.shown()
    places: dict[int, int] = {id(root): 0}
    lines: list[Line] = [root]
    edges: list[Edge] = []
    for line in lines:  # grows during the loop
        for below in line.below:
            if id(below) not in places:
                places[id(below)] = len(lines)
                lines.append(below)
            edges.append(Edge(places[id(line)], places[id(below)]))
        if len(lines) > 4 * MOST:
            break
    nodes = [Node(line.text, line.text, line is root, not line.below) for line in lines]
    return Graph(nodes, edges, "explanation").picture()
