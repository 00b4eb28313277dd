"""Rules that are known to do something together: each family is recursive, and feeds on what is asserted."""

from __future__ import annotations

from typing import Final

CLOSURES: Final = (
    ("P(x, y) :- E(x, y).", "P(x, z) :- P(x, y), E(y, z)."),
    ("P(x, y) :- E(x, y).", "P(x, z) :- E(x, y), P(y, z)."),
    ("P(x, y) :- E(x, y).", "P(x, z) :- P(x, y), P(y, z)."),
    ("P(x, y) :- E(x, y).", "Q(x, z) :- P(x, y), E(y, z).", "P(x, z) :- Q(x, y), E(y, z)."),
    ("P(x, y) :- E(x, y).", "Q(y, x) :- P(x, y).", "P(x, z) :- Q(y, x), P(y, z), F(z)."),
    ("Q(x, x) :- F(x).", "Q(x, y) :- E(z, x), Q(z, w), E(w, y)."),
    ("R(x) :- F(x).", "R(y) :- R(x), E(x, y).", "S(x) :- E(x, _), not R(x)."),
    ("R(x) :- F(x).", "S(y) :- R(x), E(x, y).", "R(y) :- S(x), E(x, y)."),
    ("U(x, y, z) :- T(x, y, z).", "U(x, y, w) :- U(x, y, z), T(y, z, w)."),
    ("U(x, y, z) :- E(x, y), E(y, z).", "U(x, z, w) :- U(x, y, z), U(y, z, w)."),
    ("U(x, y, z) :- T(x, y, z).", "U(y, z, x) :- U(x, y, z), E(x, _).", "P(x, z) :- U(x, y, z), U(z, y, x)."),
)
NEGATIONS: Final = (
    ("P(x, y) :- E(x, y).", "P(x, z) :- P(x, y), E(y, z).", "Q(x, y) :- E(x, _), E(_, y), not P(x, y)."),
    ("P(x, y) :- E(x, y).", "P(x, z) :- P(x, y), E(y, z).", "R(x) :- E(x, _), not P(_, x)."),
    ("P(x, y) :- E(x, y).", "P(x, z) :- P(x, y), E(y, z), not F(y).", "S(x) :- F(x), not P(x, _)."),
    (
        "U(x, y, z) :- T(x, y, z).",
        "U(x, y, w) :- U(x, y, z), E(z, w).",
        "Q(x, y) :- E(x, y), not U(x, _, y).",
    ),
)
READ: Final = (  # closures, which may be stored as bits, and rules that read them by either column or both
    ("P(x, y) :- E(x, y).", "P(x, z) :- P(x, y), E(y, z).", "R(x) :- P(x, x).", "Q(y, x) :- P(x, y), F(y)."),
    ("P(x, y) :- E(x, y).", "P(x, z) :- E(x, y), P(y, z).", "S(y) :- F(x), P(x, y).", "R(x) :- P(x, 1)."),
    ("P(x, y) :- E(x, y).", "P(x, z) :- P(x, y), P(y, z).", "U(x, y, z) :- P(x, y), E(y, z), P(z, x)."),
    (
        "P(x, y) :- E(x, y).",
        "P(x, z) :- P(x, y), E(y, z).",
        "Q(x, y) :- P(x, y).",
        "Q(x, z) :- Q(x, y), P(y, z).",
    ),
    (
        "P(x, y) :- E(x, y).",
        "P(x, z) :- P(x, y), E(y, z).",
        "R(y) :- F(y).",
        "R(y) :- R(x), P(x, y), E(y, x).",
    ),
)
COMPUTED: Final = (
    ("P(x, y) :- E(x, y).", "P(x, w) :- P(x, y), E(y, z), var w = (y + z) % {n}."),
    ("R(x) :- F(x).", "R(w) :- R(x), E(x, y), w == (x + y) % {n}, E(w, _)."),
    ("R(0).", "R(w) :- R(x), x >= 0, x < {n}, var w = x + 1."),
    ("P(x, y) :- E(x, y).", "P((x + 1) % {n}, y) :- P(x, y), (x * y) % {n} == (y + x) % {n}."),
    ("U(x, y, max(x, y)) :- E(x, y).", "U(x, z, min(w, y)) :- U(x, y, w), E(y, z), w >= z."),
)
AGGREGATED: Final = (
    (
        "P(x, y) :- E(x, y).",
        "P(x, z) :- P(x, y), E(y, z).",
        "Q(x, n) :- P(x, y), var n = y.group_by(x).count().",
    ),
    (
        "P(x, y) :- E(x, y).",
        "P(x, z) :- P(x, y), E(y, z).",
        "U(x, n, m) :- P(x, y), var n = y.group_by(x).sum(), var m = y.group_by(x).max().",
    ),
    (
        "R(x) :- F(x).",
        "R(y) :- R(x), E(x, y).",
        "S(n) :- R(x), var n = x.group_by().count().",
        "Q(x, n) :- R(x), E(x, y), S(m), var n = (y + m).group_by(x).min().",
    ),
    (
        "U(x, y, z) :- T(x, y, z).",
        "U(x, y, w) :- U(x, y, z), E(z, w).",
        "P(x, n) :- U(x, y, z), var n = y.group_by(x).distinct().sum().",
        "R(x) :- P(x, n), n > 3, not Q(x, _).",
        "Q(x, i) :- U(x, y, z), var i = y.group_by(x).arg_max(z).",
    ),
)
KEPT_BEST: Final = (
    (
        "D(x, y, d) :- E(x, y), var d = (y + 1).group_by(x, y).min().",
        "D(x, z, d) :- D(x, y, c), E(y, z), var d = (c + z).group_by(x, z).min().",
    ),
    (
        "D(x, y, d) :- E(x, y), var d = x.group_by(x, y).max().",
        "D(x, z, d) :- D(x, y, c), E(y, z), c > 0, var d = min(c, z).group_by(x, z).max().",
    ),
    (
        "D(x, x, d) :- F(x), var d = x.group_by(x).min().",
        "K(y) :- D(_, y, d), d < 3.",
        "D(x, z, d) :- D(x, y, c), K(y), E(y, z), var d = max(c, z).group_by(x, z).min().",
    ),
    (
        "L(s, m) :- W(s, t), var m = t.group_by(s).min().",
        "L(s, m) :- W(s, t), L(t, v), var m = v.group_by(s).min().",
    ),
)
TYPED: Final = (
    ("B(s, t) :- W(s, t).", "B(s, v) :- B(s, t), W(t, v)."),
    ("A(x, s) :- N(x, s).", 'A(y, s) :- A(x, s), E(x, y), s >= "a".'),
    ("B(s, t) :- W(s, t), s < t.", "B(s, v) :- B(s, t), B(t, v).", "R(length(s)) :- B(s, _), not B(_, s)."),
    ("C(u, x) :- M(x, u).", "C(max(u, v), y) :- C(u, x), E(x, y), M(y, v)."),
    ("H(o, x) :- G(x, o).", "H(o, y) :- H(o, x), E(x, y).", "R(x) :- G(x, o), not H(o, x)."),
    ("I(o, s) :- O(s, o).", "I(o, t) :- I(o, s), W(s, t).", "I(p, s) :- I(some(t), s), O(t, p)."),
    (
        "A(x, v) :- N(x, s), var v = s.group_by(x).max().",
        'B(s, v) :- A(x, s), N(x, t), var v = t.group_by(s).concat("-").',
    ),
)


def families(flavour: str) -> tuple[tuple[str, ...], ...]:
    """The families whose rules a flavour may contain."""
    match flavour:
        case "positive":
            return CLOSURES[:6] + CLOSURES[7:] + READ
        case "negated":
            return CLOSURES + NEGATIONS + READ
        case "guarded":
            return CLOSURES + NEGATIONS + READ + COMPUTED
        case "typed":
            return TYPED + KEPT_BEST[3:] + CLOSURES[:3]
        case _:
            return CLOSURES + NEGATIONS + READ + COMPUTED + AGGREGATED + KEPT_BEST[:3]
