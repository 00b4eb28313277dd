"""Programs from Python objects, without strings.

    from tidelog.build import input, output, program, variables

    x, y, z = variables("x y z")
    Edge = input("Edge", src=str, dst=str)
    Reach = output("Reach", src=str, dst=str)
    reach = program(
        Reach[x, y] <= Edge[x, y],
        Reach[x, z] <= Reach[x, y] & Edge[y, z],
    )
    db = tidelog.open(reach)

What is built prints as the text of the language, and sessions take it wherever they take a text.
"""

from tidelog.build.expressions import Expr, fn, text, var, variables, when
from tidelog.build.rules import Body, Program, Relation, Rule, input, let, output, program, relation  # noqa: A004

__all__ = [
    "Body",
    "Expr",
    "Program",
    "Relation",
    "Rule",
    "fn",
    "input",
    "let",
    "output",
    "program",
    "relation",
    "text",
    "var",
    "variables",
    "when",
]
