"""Random graphs and SPARQL queries over them; everything follows from the seed."""

from __future__ import annotations

from random import Random
from typing import Final

Triple = tuple[str, str, str]

PREFIX: Final = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
NODES: Final = [f"<http://e/{n}>" for n in "abcd"] + ["_:n0", "_:n1"]
PREDICATES: Final = ["p", "q", "r"]
LITERALS: Final = [
    *(f'"{n}"^^<{XSD}integer>' for n in (1, 2, 3, 10)),
    f'"2.5"^^<{XSD}decimal>',
    f'"2"^^<{XSD}double>',  # as Oxigraph writes it
    f'"true"^^<{XSD}boolean>',
    f'"2024-01-02T03:04:05Z"^^<{XSD}dateTime>',
    '"one"',
    '"two"@en',
    '"zwei"@de',
    '""',
]
VARIABLES: Final = ["?x", "?y", "?z", "?w"]


def graph(rng: Random) -> set[Triple]:
    found: set[Triple] = set()
    for _ in range(rng.choice([0, 6, 15, 40, 40])):
        value = rng.choice([*NODES, *NODES, *LITERALS])
        found.add((rng.choice(NODES), f"<http://e/{rng.choice(PREDICATES)}>", value))
    return found


def query(rng: Random) -> str:
    if rng.random() < 0.15:
        return f"{PREFIX}ASK {{ {_group(rng, 2)} }}"
    body = _group(rng, 2)
    if rng.random() < 0.3:
        return PREFIX + _aggregation(rng, body)
    distinct = rng.choice(["", "", "DISTINCT "])
    shown = rng.choice(["*", "?x ?y", "?x", "?z ?w"])
    return f"{PREFIX}SELECT {distinct}{shown} WHERE {{ {body} }}"


def _aggregation(rng: Random, body: str) -> str:
    distinct = rng.choice(["", "DISTINCT "])
    count = rng.choice([f"COUNT({distinct}?y)", "COUNT(*)"])
    other = rng.choice([f"SUM({distinct}?z)", "AVG(?z)", "SUM(?z + 1)", "COUNT(?z)"])
    keys = rng.choice(["", "?x", "?x ?w"])
    having = f" HAVING (COUNT(?y) {rng.choice(['>', '=', '<'])} 1)" if rng.random() < 0.3 else ""
    group = f" GROUP BY {keys}" if keys else ""
    return f"SELECT {keys} ({count} AS ?n) ({other} AS ?m) WHERE {{ {body} }}{group}{having}"


def _group(rng: Random, depth: int) -> str:
    parts = [_triples(rng)] if rng.random() < 0.9 else []
    for _ in range(rng.randint(0, 2) if depth else 0):
        kind = rng.random()
        inner = _group(rng, depth - 1)
        if kind < 0.3:
            parts.append(f"OPTIONAL {{ {inner} }}")
        elif kind < 0.5:
            parts.append(f"{{ {inner} }} UNION {{ {_group(rng, depth - 1)} }}")
        elif kind < 0.6:
            parts.append(f"MINUS {{ {inner} }}")
        elif kind < 0.7:
            parts.append(f"{{ {inner} }}")
        elif kind < 0.75:
            parts.append(f"{{ SELECT {rng.choice(['', 'DISTINCT '])}?x ?z WHERE {{ {inner} }} }}")
        elif kind < 0.8:
            parts.append(_values(rng))
        elif kind < 0.85:
            parts.append(f"BIND({_term(rng)} AS ?b{depth}{rng.randint(0, 10**6)})")
        else:
            parts.append(_triples(rng))
    if rng.random() < 0.4:
        parts.append(f"FILTER({_condition(rng, 2)})")
    return " ".join(parts)


def _triples(rng: Random) -> str:
    return " ".join(_triple(rng) for _ in range(rng.randint(1, 2)))


def _triple(rng: Random) -> str:
    nodes = [n for n in NODES if n.startswith("<")]
    subject = rng.choice([*VARIABLES * 4, rng.choice(nodes), "[]"])
    predicate = rng.choice([*(f":{p}" for p in PREDICATES * 2), "?w"])
    value = rng.choice([*VARIABLES * 5, rng.choice(nodes), rng.choice(LITERALS), "[]"])
    return f"{subject} {predicate} {value} ."


def _values(rng: Random) -> str:
    terms = [rng.choice([*(n for n in NODES if n.startswith("<")), *LITERALS, "UNDEF"]) for _ in range(4)]
    return f"VALUES (?x ?y) {{ ({terms[0]} {terms[1]}) ({terms[2]} {terms[3]}) }}"


def _condition(rng: Random, depth: int) -> str:
    kind = rng.random()
    if depth and kind < 0.15:
        return f"({_condition(rng, depth - 1)} {rng.choice(['&&', '||'])} {_condition(rng, depth - 1)})"
    if depth and kind < 0.25:
        return f"(!{_condition(rng, depth - 1)})"
    if kind < 0.4:
        return (
            f"{rng.choice(['bound', 'isIRI', 'isLiteral', 'isBlank', 'isNumeric'])}({rng.choice(VARIABLES)})"
        )
    if kind < 0.5:
        return f"({_term(rng)} {rng.choice(['IN', 'NOT IN'])} ({_term(rng)}, {_term(rng)}))"
    if kind < 0.6:
        name = rng.choice(["CONTAINS", "STRSTARTS", "STRENDS", "REGEX"])
        return f'{name}(STR({rng.choice(VARIABLES)}), "{rng.choice(["o", "e", "1", ""])}")'
    if kind < 0.65:
        return f'langMatches(lang({rng.choice(VARIABLES)}), "{rng.choice(["en", "*", "de"])}")'
    if kind < 0.7:
        return f"sameTerm({_term(rng)}, {_term(rng)})"
    if (
        kind < 0.75
    ):  # of two equal IRIs, Oxigraph says that `<=` holds; by the standard they cannot be compared
        return f"({_term(rng)} {rng.choice(['<=', '>='])} {rng.choice(['1', '2.5', '3e0'])})"
    return f"({_term(rng)} {rng.choice(['=', '!=', '<', '>'])} {_term(rng)})"


def _term(rng: Random) -> str:
    variable = rng.choice(VARIABLES)
    return rng.choice(
        [
            variable,
            variable,
            rng.choice(LITERALS),
            f"({variable} {rng.choice('+-*/')} {rng.choice(['1', '2.5', '0', '2e0', '?x'])})",
            f"STRLEN(STR({variable}))",
            f"COALESCE({variable}, 7)",
            f"IF(bound({variable}), {variable}, ?x)",
            f"LANG({variable})",
            f"DATATYPE({variable})",
            f"UCASE(STR({variable}))",
        ]
    )
