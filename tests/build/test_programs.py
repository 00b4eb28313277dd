"""Five real programs, built and written, are the same programs."""

from __future__ import annotations

from tidelog import load
from tidelog.build import Program, input, let, output, program, relation, text, var, variables

_ = var("_")


def access() -> Program:
    p, m, t, inner, s, n = variables("p m t inner s n")
    Person = input("Person", person=str)
    MemberOf = input("MemberOf", member=str, team=str)
    Grants = input("Grants", team=str, system=str)
    Suspended = input("Suspended", person=str)
    In = output("In", member=str, team=str)
    CanReach = output("CanReach", person=str, system=str)
    Audience = output("Audience", system=str, people=int)
    return program(
        In[m, t] <= MemberOf[m, t],
        In[m, t] <= In[m, inner] & MemberOf[inner, t],
        CanReach[p, s] <= Person[p] & In[p, t] & Grants[t, s] & ~Suspended[p],
        Audience[s, n] <= CanReach[p, s] & let(n, p.group_by(s).count()),
    )


ACCESS = """
input relation Person(person: string)
input relation MemberOf(member: string, team: string)
input relation Grants(team: string, system: string)
input relation Suspended(person: string)
output relation In(member: string, team: string)
output relation CanReach(person: string, system: string)
output relation Audience(system: string, people: int)
In(m, t) :- MemberOf(m, t).
In(m, t) :- In(m, inner), MemberOf(inner, t).
CanReach(p, s) :- Person(p), In(p, t), Grants(t, s), not Suspended(p).
Audience(s, n) :- CanReach(p, s), var n = p.group_by(s).count().
"""


def shortest() -> Program:
    x, y, z, a, k, d = variables("x y z a k d")
    Road = input("Road", src=str, dst=str, km=int)
    Shortest = output("Shortest", src=str, dst=str, km=int)
    Far = output("Far", text=str)
    return program(
        Shortest[x, y, d] <= Road[x, y, k] & let(d, k.group_by(x, y).min()),
        Shortest[x, z, d] <= Shortest[x, y, a] & Road[y, z, k] & let(d, (a + k).group_by(x, z).min()),
        Far[text(x, " to ", y, ": ", d, " km")] <= Shortest[x, y, d] & ((d > 500) & (x < y)),
    )


SHORTEST = """
input relation Road(src: string, dst: string, km: int)
output relation Shortest(src: string, dst: string, km: int)
output relation Far(text: string)
Shortest(x, y, d) :- Road(x, y, k), var d = k.group_by(x, y).min().
Shortest(x, z, d) :- Shortest(x, y, a), Road(y, z, k), var d = (a + k).group_by(x, z).min().
Far("${x} to ${y}: ${d} km") :- Shortest(x, y, d), d > 500 and x < y.
"""


def points_to() -> Program:
    v, w, h, g, f, b = variables("v w h g f b")
    New = input("New", var=int, heap=int)
    Assign = input("Assign", to=int, of=int)
    Store = input("Store", base=int, field=int, of=int)
    Load = input("Load", to=int, base=int, field=int)
    VarPointsTo = output("VarPointsTo", var=int, heap=int)
    HeapPointsTo = output("HeapPointsTo", heap=int, field=int, target=int)
    return program(
        VarPointsTo[v, h] <= New[v, h],
        VarPointsTo[v, h] <= Assign[v, w] & VarPointsTo[w, h],
        HeapPointsTo[g, f, h] <= Store[b, f, v] & VarPointsTo[b, g] & VarPointsTo[v, h],
        VarPointsTo[v, h] <= Load[v, b, f] & VarPointsTo[b, g] & HeapPointsTo[g, f, h],
    )


POINTS_TO = """
input relation New(var: int, heap: int)
input relation Assign(to: int, of: int)
input relation Store(base: int, field: int, of: int)
input relation Load(to: int, base: int, field: int)
output relation VarPointsTo(var: int, heap: int)
output relation HeapPointsTo(heap: int, field: int, target: int)
VarPointsTo(v, h) :- New(v, h).
VarPointsTo(v, h) :- Assign(v, w), VarPointsTo(w, h).
HeapPointsTo(g, f, h) :- Store(b, f, v), VarPointsTo(b, g), VarPointsTo(v, h).
VarPointsTo(v, h) :- Load(v, b, f), VarPointsTo(b, g), HeapPointsTo(g, f, h).
"""


def fraud() -> Program:
    a, b, c, t, total, n = variables("a b c t total n")
    Payment = input("Payment", payer=str, payee=str, cents="decimal(18, 2)", day="date")
    Flow = relation("Flow", payer=str, payee=str)
    Ring = output("Ring", account=str)
    Busy = output("Busy", account=str, total="decimal(18, 2)", partners=int)
    return program(
        Flow[a, b] <= Payment(payer=a, payee=b),
        Flow[a, c] <= Flow[a, b] & Flow[b, c],
        Ring[a] <= Flow[a, a],
        Busy[a, total, n]
        <= Payment[a, b, t, _]
        & let(total, t.group_by(a).sum())
        & let(n, b.group_by(a).count_distinct())
        & (n > 10),
    )


FRAUD = """
input relation Payment(payer: string, payee: string, cents: decimal(18, 2), day: date)
relation Flow(payer: string, payee: string)
output relation Ring(account: string)
output relation Busy(account: string, total: decimal(18, 2), partners: int)
Flow(a, b) :- Payment(.payer = a, .payee = b).
Flow(a, c) :- Flow(a, b), Flow(b, c).
Ring(a) :- Flow(a, a).
Busy(a, total, n) :-
    Payment(a, b, t, _), var total = t.group_by(a).sum(), var n = b.group_by(a).count_distinct(), n > 10.
"""


def lineage() -> Program:
    q, t, s, up = variables("q t s up")
    Reads = input("Reads", query=int, table=str)
    Writes = input("Writes", query=int, table=str)
    Stale = input("Stale", table=str)
    Upstream = output("Upstream", table=str, source=str)
    Affected = output("Affected", table=str)
    Root = output("Root", table=str)
    return program(
        Upstream[t, s] <= Writes[q, t] & Reads[q, s],
        Upstream[t, s] <= Upstream[t, up] & Upstream[up, s],
        Affected[t] <= Stale[t] | Upstream[t, s] & Stale[s],
        Root[s] <= Reads[_, s] & ~Writes[_, s] & ~s.starts_with("tmp_"),
    )


LINEAGE = """
input relation Reads(query: int, table: string)
input relation Writes(query: int, table: string)
input relation Stale(table: string)
output relation Upstream(table: string, source: string)
output relation Affected(table: string)
output relation Root(table: string)
Upstream(t, s) :- Writes(q, t), Reads(q, s).
Upstream(t, s) :- Upstream(t, up), Upstream(up, s).
Affected(t) :- (Stale(t); Upstream(t, s), Stale(s)).
Root(s) :- Reads(_, s), not Writes(_, s), not s.starts_with("tmp_").
"""

PAIRS = {
    "access": (access, ACCESS),
    "shortest paths": (shortest, SHORTEST),
    "points-to": (points_to, POINTS_TO),
    "fraud": (fraud, FRAUD),
    "lineage": (lineage, LINEAGE),
}


def test_five_programs_mean_the_same_built_and_written() -> None:
    for built, written in PAIRS.values():
        one, other = load(str(built())), load(written)
        assert set(one.rules) == set(other.rules)
        assert dict(one.relations) == dict(other.relations)
