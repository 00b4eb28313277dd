"""The measured programs, with equivalent SQL where recursive SQL can express them.

A recursive query in SQL sees only the rows of the previous round and only one table, so it cannot express
non-linear or mutual recursion. Closures have a linear form, which both use. For RDFS, the closures of the
schema are computed first and the data without recursion, as somebody who knows the rules would write it. This
is correct as long as no schema triple follows from the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.rdf.rdfs import RDFS as RDFS_TEXT
from tidelog.rdf.terms import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from tidelog.syntax.printer import quote

__all__ = ["PROGRAMS", "TERMS", "Program"]


@dataclass(frozen=True, slots=True)
class Program:
    """`result` is the relation whose size is compared; `extra` is a rule to add and remove.

    `dialects` has the rules as Soufflé and FlowLog write them, if they differ from ours. `souffle_order` is
    the heuristic with which Soufflé orders the joins of this program, if it is faster than the default.
    """

    name: str
    text: str
    result: str
    sql: str | None = None
    extra: str | None = None
    dialects: Mapping[str, str] = field(default_factory=dict)
    souffle_order: str | None = None


CLOSURE = Program(
    "closure",
    """
    input relation Edge(src: int, dst: int)
    output relation Reach(src: int, dst: int)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).
    """,
    "Reach",
    """
    WITH RECURSIVE reach AS (
      SELECT src, dst FROM Edge
      UNION SELECT r.src, e.dst FROM reach r JOIN Edge e ON r.dst = e.src
    ) SELECT * FROM reach
    """,
    "Reach(x, x) :- Edge(x, _).",
)

# another rule reads the closure
READ = Program(
    "closure, read",
    CLOSURE.text
    + """
    output relation Cyclic(x: int)
    Cyclic(x) :- Reach(x, x).
    """,
    "Reach",
    CLOSURE.sql,
    "Reach(x, x) :- Edge(x, _).",
)

NONLINEAR = Program(
    "nonlinear",
    """
    input relation Edge(src: int, dst: int)
    output relation Reach(src: int, dst: int)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Reach(y, z).
    """,
    "Reach",
    CLOSURE.sql,
    "Reach(x, x) :- Edge(x, _).",
)

SAME_GENERATION = Program(
    "same generation",
    """
    input relation Edge(src: int, dst: int)
    output relation Same(a: int, b: int)
    Same(x, y) :- Edge(p, x), Edge(p, y), x != y.
    Same(x, y) :- Edge(a, x), Same(a, b), Edge(b, y).
    """,
    "Same",
    """
    WITH RECURSIVE same AS (
      SELECT p.dst AS a, q.dst AS b FROM Edge p JOIN Edge q ON p.src = q.src WHERE p.dst <> q.dst
      UNION SELECT p.dst, q.dst FROM same s JOIN Edge p ON p.src = s.a JOIN Edge q ON q.src = s.b
    ) SELECT * FROM same
    """,
    "Same(x, x) :- Edge(_, x).",
)

TRIANGLES = Program(
    "triangles",
    """
    input relation Edge(src: int, dst: int)
    output relation Triangle(a: int, b: int, c: int)
    Triangle(a, b, c) :- Edge(a, b), Edge(b, c), Edge(a, c).
    """,
    "Triangle",
    """
    SELECT DISTINCT x.src AS a, x.dst AS b, y.dst AS c FROM Edge x
      JOIN Edge y ON x.dst = y.src JOIN Edge z ON z.src = x.src AND z.dst = y.dst
    """,
    "Triangle(a, b, a) :- Edge(a, b), Edge(b, a).",
)

POINTS_TO = Program(
    "points-to",
    """
    input relation New(variable: int, object: int)
    input relation Assign(to: int, from: int)
    input relation Load(to: int, base: int, field: int)
    input relation Store(base: int, field: int, from: int)
    output relation Points(variable: int, object: int)
    output relation Alias(a: int, b: int)
    Points(v, o) :- New(v, o).
    Points(v, o) :- Assign(v, w), Points(w, o).
    Points(v, o) :- Load(v, y, f), Store(p, f, q), Points(q, o), Points(p, b), Points(y, b).
    Alias(v, w) :- Points(v, o), Points(w, o).
    """,
    "Points",
    extra="Points(w, o) :- Assign(v, w), Points(v, o).",
    souffle_order="delta-max-bound",
)

CSPA = Program(
    "CSPA",
    """
    input relation Assign(to: int, from: int)
    input relation Dereference(pointer: int, value: int)
    output relation ValueFlow(a: int, b: int)
    output relation ValueAlias(a: int, b: int)
    output relation MemoryAlias(a: int, b: int)
    ValueFlow(x, y) :- Assign(x, y).
    ValueFlow(x, z) :- Assign(x, y), MemoryAlias(y, z).
    ValueFlow(x, z) :- ValueFlow(x, y), ValueFlow(y, z).
    MemoryAlias(x, w) :- Dereference(y, x), ValueAlias(y, z), Dereference(z, w).
    ValueAlias(y, z) :- ValueFlow(x, y), ValueFlow(x, z).
    ValueAlias(y, z) :- ValueFlow(x, y), MemoryAlias(x, w), ValueFlow(w, z).
    ValueFlow(x, x) :- Assign(x, _).
    ValueFlow(x, x) :- Assign(_, x).
    MemoryAlias(x, x) :- Assign(_, x).
    MemoryAlias(x, x) :- Assign(x, _).
    """,
    "ValueAlias",
    extra="ValueFlow(y, x) :- Dereference(x, y), Assign(x, _).",
    souffle_order="delta-max-bound",
)

CSDA = Program(
    "CSDA",
    """
    input relation NullEdge(a: int, b: int)
    input relation Arc(a: int, b: int)
    output relation Null(a: int, b: int)
    Null(x, y) :- NullEdge(x, y).
    Null(x, z) :- Null(x, y), Arc(y, z).
    """,
    "Null",
    """
    WITH RECURSIVE nulls AS (
      SELECT a, b FROM NullEdge
      UNION SELECT n.a, e.b FROM nulls n JOIN Arc e ON n.b = e.a
    ) SELECT * FROM nulls
    """,
    "Null(x, y) :- NullEdge(x, _), Arc(x, y).",
)

RDFS = Program(
    "RDFS",
    RDFS_TEXT,
    "T",
    f"""
    WITH RECURSIVE
    sp AS (SELECT s, o FROM T WHERE p = '{SUBPROPERTY}'
           UNION SELECT a.s, b.o FROM sp a JOIN T b ON a.o = b.s AND b.p = '{SUBPROPERTY}'),
    sc AS (SELECT s, o FROM T WHERE p = '{SUBCLASS}'
           UNION SELECT a.s, b.o FROM sc a JOIN T b ON a.o = b.s AND b.p = '{SUBCLASS}'),
    wide AS (SELECT s, p, o FROM T UNION SELECT T.s, sp.o, T.o FROM T JOIN sp ON T.p = sp.s),
    types AS (SELECT s, o FROM wide WHERE p = '{TYPE}'
              UNION SELECT w.s, d.o FROM wide w JOIN T d ON d.p = '{DOMAIN}' AND w.p = d.s
              UNION SELECT w.o, d.o FROM wide w JOIN T d ON d.p = '{RANGE}' AND w.p = d.s)
    SELECT * FROM wide
    UNION SELECT s, '{SUBPROPERTY}', o FROM sp
    UNION SELECT s, '{SUBCLASS}', o FROM sc
    UNION SELECT s, '{TYPE}', o FROM types
    UNION SELECT t.s, '{TYPE}', sc.o FROM types t JOIN sc ON t.o = sc.s
    """,
    f'T(x, "{SUBCLASS}", x) :- T(_, "{TYPE}", x).',
)

# the numbers of the terms in the rules; all others follow
TERMS = (TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)


def _numbered(text: str, marks: Sequence[str]) -> str:
    """The text with the number of each term instead of the term in quotes."""
    for number, mark in enumerate(marks):
        text = text.replace(mark, str(number))
    return text.replace(": string", ": int")


RDFS_NUMBERS = Program(
    "RDFS, numbers",
    _numbered(RDFS.text, [quote(term) for term in TERMS]),
    "T",
    _numbered(RDFS.sql or "", [f"'{term}'" for term in TERMS]),
    _numbered(RDFS.extra or "", [quote(term) for term in TERMS]),
)

COMPLETION = Program(
    "completion",
    """
    input relation P(x: int, y: int)
    input relation Q(x: int, r: int, z: int)
    input relation U(w: int, r: int, z: int)
    input relation C(y: int, w: int, z: int)
    input relation S(r: int, q: int)
    input relation R(y: int, u: int, e: int)
    P(x, z) :- P(x, y), P(y, z).
    P(x, z) :- P(y, w), U(w, r, z), Q(x, r, y).
    P(x, z) :- C(y, w, z), P(x, w), P(x, y).
    Q(x, r, z) :- P(x, y), Q(y, r, z).
    Q(x, q, z) :- Q(x, r, z), S(r, q).
    Q(x, e, o) :- Q(x, y, z), R(y, u, e), Q(z, u, o).
    """,
    "Q",
    extra="P(x, x) :- Q(x, _, _).",
)

# What a borrow checker asks, in the form of Polonius' naive rules: where paths are initialized and variables
# live, which origins are subsets of others at a point, which loans are live there, and which accesses and
# subsets are errors. Errors of moves are left out: a path is uninitialized at nearly all points, which would
# take a row for each path and point.
BORROWS = Program(
    "borrows",
    """
    input relation Flow(from: int, to: int)
    input relation Define(variable: int, point: int)
    input relation Use(variable: int, point: int)
    input relation Drop(variable: int, point: int)
    input relation UseReads(variable: int, origin: int)
    input relation DropReads(variable: int, origin: int)
    input relation Child(path: int, parent: int)
    input relation Root(path: int, variable: int)
    input relation Assigned(path: int, point: int)
    input relation Moved(path: int, point: int)
    input relation Issued(origin: int, loan: int, point: int)
    input relation Killed(loan: int, point: int)
    input relation Invalidated(loan: int, point: int)
    input relation Universal(origin: int)
    input relation Known(a: int, b: int)
    input relation Outlives(a: int, b: int, point: int)
    relation Point(point: int)
    relation Inside(path: int, above: int)
    relation Of(path: int, variable: int)
    relation Assigns(path: int, point: int)
    relation Moves(path: int, point: int)
    relation Filled(path: int, point: int)
    relation Held(variable: int, point: int)
    relation UseLive(variable: int, point: int)
    relation DropLive(variable: int, point: int)
    relation Live(origin: int, point: int)
    output relation Subset(a: int, b: int, point: int)
    output relation Contains(origin: int, loan: int, point: int)
    output relation LoanLive(loan: int, point: int)
    output relation LoanError(loan: int, point: int)
    output relation SubsetError(a: int, b: int, point: int)
    Point(p) :- Flow(p, _).
    Point(p) :- Flow(_, p).
    Inside(x, y) :- Child(x, y).
    Inside(x, z) :- Inside(x, y), Child(y, z).
    Of(x, v) :- Root(x, v).
    Of(x, v) :- Inside(x, y), Root(y, v).
    Assigns(x, p) :- Assigned(x, p).
    Assigns(x, p) :- Inside(x, y), Assigned(y, p).
    Moves(x, p) :- Moved(x, p).
    Moves(x, p) :- Inside(x, y), Moved(y, p).
    Filled(x, p) :- Assigns(x, p).
    Filled(x, q) :- Filled(x, p), Flow(p, q), not Moves(x, q).
    Held(v, p) :- Filled(x, p), Of(x, v).
    UseLive(v, p) :- Use(v, p).
    UseLive(v, p) :- UseLive(v, q), Flow(p, q), not Define(v, p).
    DropLive(v, q) :- Drop(v, q), Flow(p, q), Held(v, p).
    DropLive(v, p) :- DropLive(v, q), Flow(p, q), Held(v, p), not Define(v, p).
    Live(o, p) :- UseLive(v, p), UseReads(v, o).
    Live(o, p) :- DropLive(v, p), DropReads(v, o).
    Live(o, p) :- Universal(o), Point(p).
    Subset(a, b, p) :- Outlives(a, b, p).
    Subset(a, c, p) :- Subset(a, b, p), Subset(b, c, p), a != c.
    Subset(a, b, q) :- Subset(a, b, p), Flow(p, q), Live(a, q), Live(b, q).
    Contains(o, l, p) :- Issued(o, l, p).
    Contains(b, l, p) :- Contains(a, l, p), Subset(a, b, p).
    Contains(o, l, q) :- Contains(o, l, p), not Killed(l, p), Flow(p, q), Live(o, q).
    LoanLive(l, p) :- Contains(o, l, p), Live(o, p).
    LoanError(l, p) :- Invalidated(l, p), LoanLive(l, p).
    Known(a, c) :- Known(a, b), Known(b, c).
    SubsetError(a, b, p) :- Subset(a, b, p), Universal(a), Universal(b), not Known(a, b), a != b.
    """,
    "Subset",
    extra="Live(o, p) :- Issued(o, _, p).",
    souffle_order="delta-max-bound",
)

SHORTEST = Program(
    "shortest paths",
    """
    input relation Road(src: int, dst: int, km: int)
    output relation Distance(src: int, dst: int, km: int)
    Distance(x, y, d) :- Road(x, y, k), var d = k.group_by(x, y).min().
    Distance(x, z, d) :- Distance(x, y, a), Road(y, z, k), var d = (a + k).group_by(x, z).min().
    """,
    "Distance",
    """
    WITH RECURSIVE distance(src, dst, km) USING KEY (src, dst) AS (
      SELECT src, dst, min(km) FROM Road GROUP BY src, dst
      UNION SELECT n.src, n.dst, min(n.km)
        FROM (SELECT d.src, r.dst, d.km + r.km AS km FROM distance d JOIN Road r ON d.dst = r.src) n
        LEFT JOIN recurring.distance o ON o.src = n.src AND o.dst = n.dst
        WHERE o.km IS NULL OR n.km < o.km GROUP BY n.src, n.dst
    ) SELECT * FROM distance
    """,
    "Distance(y, x, d) :- Road(x, y, k), var d = k.group_by(y, x).min().",
    dialects={
        "souffle": """
    Distance(x, y, k) :- Road(x, y, k).
    Distance(x, z, a + k) :- Distance(x, y, a), Road(y, z, k).
    Distance(x, y, a) <= Distance(x, y, b) :- b <= a.
    """,
        "flowlog": """
    Distance(x, y, min(k)) :- Road(x, y, k).
    Distance(x, z, min(a + k)) :- Distance(x, y, a), Road(y, z, k).
    """,
    },
)

COUNTING = Program(
    "counting",
    """
    input relation Last(n: int)
    output relation Number(x: int)
    Number(0).
    Number(x + 1) :- Number(x), Last(n), x < n.
    """,
    "Number",
    """
    WITH RECURSIVE number(x) AS (SELECT 0 UNION SELECT x + 1 FROM number, Last WHERE x < n)
    SELECT * FROM number
    """,
    "Number(x) :- Last(x).",
)

# A text shared by replicas: every character is inserted after another one, later siblings first. Maxima are
# negations: the first child has no later sibling. `Skip` leads only to the next visible character, not to the
# removed ones in between: their runs are thousands long, and their pairs quadratic.
CRDT = Program(
    "CRDT",
    """
    input relation Insert(c: int, n: int, pc: int, pn: int)
    input relation Remove(c: int, n: int)
    relation HasChild(c: int, n: int)
    relation LaterChild(pc: int, pn: int, c: int, n: int)
    relation FirstChild(pc: int, pn: int, c: int, n: int)
    relation LaterSibling(c: int, n: int, d: int, m: int)
    relation Between(c: int, n: int, d: int, m: int)
    relation NextSibling(c: int, n: int, d: int, m: int)
    relation HasNext(c: int, n: int)
    relation NextAbove(c: int, n: int, d: int, m: int)
    relation Next(c: int, n: int, d: int, m: int)
    relation Visible(c: int, n: int)
    relation Skip(c: int, n: int, d: int, m: int)
    output relation NextVisible(c: int, n: int, d: int, m: int)
    HasChild(pc, pn) :- Insert(_, _, pc, pn).
    LaterChild(pc, pn, c, n) :- Insert(c, n, pc, pn), Insert(d, _, pc, pn), d > c.
    LaterChild(pc, pn, c, n) :- Insert(c, n, pc, pn), Insert(c, m, pc, pn), m > n.
    FirstChild(pc, pn, c, n) :- Insert(c, n, pc, pn), not LaterChild(pc, pn, c, n).
    LaterSibling(c, n, d, m) :- Insert(c, n, pc, pn), Insert(d, m, pc, pn), c > d.
    LaterSibling(c, n, c, m) :- Insert(c, n, pc, pn), Insert(c, m, pc, pn), n > m.
    Between(c, n, d, m) :- LaterSibling(c, n, e, l), LaterSibling(e, l, d, m).
    NextSibling(c, n, d, m) :- LaterSibling(c, n, d, m), not Between(c, n, d, m).
    HasNext(c, n) :- LaterSibling(c, n, _, _).
    NextAbove(c, n, d, m) :- NextSibling(c, n, d, m).
    NextAbove(c, n, d, m) :- Insert(c, n, pc, pn), not HasNext(c, n), NextAbove(pc, pn, d, m).
    Next(c, n, d, m) :- FirstChild(c, n, d, m).
    Next(c, n, d, m) :- NextAbove(c, n, d, m), not HasChild(c, n).
    Visible(c, n) :- Insert(c, n, _, _), not Remove(c, n).
    Skip(c, n, d, m) :- Next(c, n, d, m), Visible(d, m).
    Skip(c, n, d, m) :- Next(c, n, e, l), not Visible(e, l), Skip(e, l, d, m).
    NextVisible(c, n, d, m) :- Visible(c, n), Skip(c, n, d, m).
    """,
    "NextVisible",
    """
    WITH RECURSIVE
    siblings AS (SELECT a.c, a.n, b.c AS d, b.n AS m FROM Insert a JOIN Insert b
                 ON a.pc = b.pc AND a.pn = b.pn AND (a.c > b.c OR (a.c = b.c AND a.n > b.n))),
    nexts AS (SELECT * FROM siblings EXCEPT
              SELECT a.c, a.n, b.d, b.m FROM siblings a JOIN siblings b ON a.d = b.c AND a.m = b.n),
    above AS (SELECT * FROM nexts UNION
              SELECT i.c, i.n, p.d, p.m FROM above p JOIN Insert i ON i.pc = p.c AND i.pn = p.n
              WHERE (i.c, i.n) NOT IN (SELECT (c, n) FROM siblings)),
    following AS (SELECT i.pc AS c, i.pn AS n, i.c AS d, i.n AS m FROM Insert i
                  WHERE (i.c, i.n) NOT IN (SELECT (d, m) FROM siblings)
                  UNION SELECT * FROM above WHERE (c, n) NOT IN (SELECT (pc, pn) FROM Insert)),
    visible AS (SELECT c, n FROM Insert EXCEPT SELECT c, n FROM Remove),
    skip AS (SELECT * FROM following WHERE (d, m) IN (SELECT (c, n) FROM visible) UNION
             SELECT f.c, f.n, s.d, s.m FROM skip s JOIN following f ON f.d = s.c AND f.m = s.n
             WHERE (s.c, s.n) NOT IN (SELECT (c, n) FROM visible))
    SELECT * FROM skip WHERE (c, n) IN (SELECT (c, n) FROM visible)
    """,
    "Visible(0, 0) :- Insert(_, _, 0, 0).",
)

PROGRAMS = {
    p.name: p
    for p in (
        CLOSURE,
        READ,
        NONLINEAR,
        SAME_GENERATION,
        TRIANGLES,
        POINTS_TO,
        CSPA,
        CSDA,
        RDFS,
        RDFS_NUMBERS,
        COMPLETION,
        BORROWS,
        SHORTEST,
        COUNTING,
        CRDT,
    )
}
