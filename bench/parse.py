"""Measures parsing: our parser compared with Lark's LALR parser, on the same program, in the same run.

    python bench/parse.py [--rules 10000] [--repeat 3] [--json]

The program uses only what both grammars support: declarations, facts, rules with atoms, negation,
comparisons, arithmetic and assignments. Lark builds its plain tree, without positions of inner nodes, error
messages or error recovery; constructing its parser is not measured. The result is the processor time of the
best of all repeats.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from random import Random

from lark import Lark

from tidelog.program.draft import load
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

GRAMMAR = r"""
start: item*
?item: relation | rule
relation: ROLE? "relation" RELATION "(" [column ("," column)*] ")"
column: NAME ":" NAME
rule: atom [":-" literal ("," literal)*] "."
?literal: atom | "not" atom -> negation | "var" NAME "=" sum -> assignment | comparison
atom: RELATION "(" [argument ("," argument)*] ")"
?argument: sum | "_" -> wildcard
?comparison: sum COMPARISON sum
?sum: product | sum SUM product
?product: unary | product PRODUCT unary
?unary: value | "-" unary -> negative
?value: NUMBER -> number | STRING -> string | NAME -> variable | TRUTH -> truth | "(" sum ")"
ROLE: "input" | "output"
RELATION: /[A-Z]\w*/
NAME: /[a-z]\w*/
TRUTH.2: "true" | "false"
NUMBER: /\d+(\.\d+)?/
STRING: /"([^"\\]|\\.)*"/
COMPARISON: "==" | "!=" | "<=" | ">=" | "<" | ">"
SUM: "++" | "+" | "-"
PRODUCT: "*" | "/" | "%"
COMMENT: /\/\/[^\n]*/
%ignore COMMENT
%ignore /\s+/
"""

DECLARATIONS = """\
input relation Person(id: int, name: string, age: int)
input relation Knows(a: int, b: int, since: int)
input relation Blocked(a: int, b: int)
input relation Order(id: int, person: int, amount: int, paid: bool)
"""

KINDS = 200

TEMPLATES = (
    'Person({n}, "name {n}", {m}).',
    "Reach{k}(x, y) :- Knows(x, y, since), since > {n}.",
    "Reach{k}(x, z) :- Reach{k}(x, y), Knows(y, z, since), since > {n}, not Blocked(y, z).",
    "Friend{k}(a, b, n) :- Person(a, n, age), Person(b, n, age), Reach{k}(a, b), a != b, age >= {m}.",
    "Spent{k}(p, total) :- Order(id, p, amount, true), var total = amount * {n} + id % {m}, total > 100.",
    'Label{k}(p, text) :- Person(p, name, _), Spent{k}(p, _), var text = name ++ " of {n}".',
    "// ahead of friends\nAhead{k}(p) :- Spent{k}(p, a), Reach{k}(p, q), Spent{k}(q, b), a > b * 2 - {n}.",
    "Alone{k}(p) :- Person(p, _, age), not Reach{k}(p, _), (age + {n}) * 2 <= 1000 + {m}.",
)


def generate(rules: int, seed: int = 0) -> str:
    """A program of `rules` different rules."""
    return "\n".join([DECLARATIONS, *_declarations(), *_rules(rules, Random(seed))]) + "\n"


def _declarations() -> Iterator[str]:
    for k in range(KINDS):
        yield f"relation Reach{k}(a: int, b: int)"
        yield f"output relation Friend{k}(a: int, b: int, name: string)"
        yield f"relation Spent{k}(person: int, total: int)"
        yield f"output relation Label{k}(person: int, text: string)"
        yield f"output relation Ahead{k}(person: int)"
        yield f"output relation Alone{k}(person: int)"


def _rules(count: int, random: Random) -> Iterator[str]:
    for n in range(count):
        yield random.choice(TEMPLATES).format(k=random.randrange(KINDS), n=n, m=random.randrange(1, 100))


def measure(rules: int, repeat: int) -> dict[str, float]:
    """Seconds for each step; the steps alternate, so that other load on the machine affects all of them."""
    text = generate(rules)
    lark = Lark(GRAMMAR, parser="lalr", lexer="contextual")
    program = parse(text)
    assert len(lark.parse(text).children) == len(program.items), "the grammars disagree"
    steps: dict[str, Callable[[], object]] = {
        "lark": lambda: lark.parse(text),
        "parse": lambda: parse(text),
        "print": lambda: print_program(program),
        "load": lambda: load(text),
    }
    seconds = dict.fromkeys(steps, float("inf"))
    for _ in range(repeat):
        for name, step in steps.items():
            seconds[name] = min(seconds[name], _timed(step))
    return seconds


def _timed(step: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    step()
    return time.process_time() - start


NAMES = {
    "lark": "Lark, LALR, plain tree",
    "parse": "parse: tree with spans",
    "print": "print",
    "load": "load: parse, types, safety, strata",
}


def table(seconds: dict[str, float], rules: int) -> str:
    rows = [f"{'step':36}{'seconds':>9}{'rules/s':>10}{'of Lark':>9}"]
    for key, name in NAMES.items():
        taken = seconds[key]
        rows.append(f"{name:36}{taken:9.2f}{rules / taken:10,.0f}{taken / seconds['lark']:8.2f}x")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rules", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    seconds = measure(options.rules, options.repeat)
    if options.json:
        ratios = {key: round(taken / seconds["lark"], 3) for key, taken in seconds.items()}
        json.dump({"rules": options.rules, "seconds": seconds, "of_lark": ratios}, sys.stdout)
        print()
    else:
        print(table(seconds, options.rules))


if __name__ == "__main__":
    main()
