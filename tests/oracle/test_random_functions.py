"""Random functions with statements, loops and recursion: engine and reference agree with Python.

Each function is written twice, in the language and in Python, from the same random choices. In the Python
form a variable holds a value or the failure of its computation, and reading it raises that failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest

from sizes import size
from tidelog.data.types import INT, Type, Vec
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.evaluator import Evaluator
from tidelog.program.draft import load
from tidelog.program.typed import Call, Var
from tidelog.reference.evaluate import Failure, evaluate
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

ROWS = 8
_LIMIT = 2**63


class _Failed(Exception):
    """An expression has no value."""


def _checked(x: int) -> int:
    if not -_LIMIT <= x < _LIMIT:
        raise _Failed
    return x


def _divided(x: int, y: int) -> int:
    if y == 0:
        raise _Failed
    return _checked(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))


def _read(x: Any) -> Any:
    if isinstance(x, _Failed):
        raise x
    return x


def _tried(value: Callable[[], Any]) -> Any:
    try:
        return value()
    except _Failed as failed:
        return failed


_PYTHON: dict[str, Any] = {"C": _checked, "D": _divided, "R": _read, "T": _tried}

Pair = tuple[str, str]  # in the language, and in Python


@dataclass
class _Writer:
    """Writes one function; `readable` are its numbers in scope, `assignable` those that it declares."""

    random: Random
    calls: tuple[str, ...]
    readable: list[str] = field(default_factory=lambda: ["n", "a"])
    assignable: list[str] = field(default_factory=list)
    vecs: list[str] = field(default_factory=lambda: ["v"])
    made: int = 0
    called: int = 0
    loops: int = 0

    def name(self) -> str:
        self.made += 1
        return f"x{self.made}"

    # -- expressions

    def number(self, depth: int = 2) -> Pair:
        draw = self.random.random()
        if depth == 0 or draw < 0.3:
            if self.random.random() < 0.3:
                literal = str(self.random.choice([0, 1, 2, 3, 7]))
                return literal, literal
            name = self.random.choice(self.readable)
            return name, f"R({name})"
        if draw < 0.45 and self.calls and self.called + self.loops < 2:
            self.called += 1
            function = self.random.choice(self.calls)
            a, vec = self.number(depth - 1), self.random.choice(self.vecs)
            python = f"R(T(lambda: {function}(C(R(n) - 1), T(lambda: {a[1]}), {vec})))"
            return f"{function}(n - 1, {a[0]}, {vec})", python
        if draw < 0.55:
            condition, then, other = self.condition(), self.number(depth - 1), self.number(depth - 1)
            return (
                f"(if ({condition[0]}) {then[0]} else {other[0]})",
                f"({then[1]} if {condition[1]} else {other[1]})",
            )
        x, y = self.number(depth - 1), self.number(depth - 1)
        if draw < 0.65:
            return f"({x[0]} / {y[0]})", f"D({x[1]}, {y[1]})"
        op = self.random.choice("+-*")
        return f"({x[0]} {op} {y[0]})", f"C({x[1]} {op} {y[1]})"

    def condition(self) -> Pair:
        x, y, op = self.number(1), self.number(1), self.random.choice(["<", "<=", "==", "!=", ">"])
        return f"{x[0]} {op} {y[0]}", f"{x[1]} {op} {y[1]}"

    # -- statements

    def block(self, depth: int, indent: str) -> tuple[str, str]:
        """A body of statements without a result."""
        before = [*self.readable], [*self.assignable]
        made = [self.statement(depth, indent) for _ in range(self.random.randint(1, 3))]
        self.readable, self.assignable = before
        return " ".join(m[0] for m in made), "".join(m[1] for m in made)

    def statement(self, depth: int, indent: str) -> Pair:
        draw = self.random.random()
        if depth > 0 and draw < 0.25:
            return self.choice(depth, indent)
        if depth > 0 and draw < 0.4 and self.loops < 2:
            return self.loop(depth, indent)
        if draw < 0.5 and self.loops:
            word = self.random.choice(["break", "continue"])
            condition = self.condition()
            return f"if ({condition[0]}) {{ {word}; }}", f"{indent}if {condition[1]}: {word}\n"
        if draw < 0.58:
            condition, value = self.condition(), self.number()
            text = f"if ({condition[0]}) {{ return {value[0]}; }}"
            return text, f"{indent}if {condition[1]}: return {value[1]}\n"
        if draw < 0.7 and len(self.assignable) > 1:
            x, y = self.random.sample(self.assignable, 2)
            one, other = self.number(1), self.number(1)
            return f"({x}, {y}) = ({one[0]}, {other[0]});", self._pair(x, y, one, other, indent)
        value = self.number()
        if draw < 0.85 and self.assignable:
            name = self.random.choice(self.assignable)
            return f"{name} = {value[0]};", f"{indent}{name} = T(lambda: {value[1]})\n"
        name = self.name()
        self.readable.append(name)
        self.assignable.append(name)
        return f"var {name} = {value[0]};", f"{indent}{name} = T(lambda: {value[1]})\n"

    @staticmethod
    def _pair(x: str, y: str, one: Pair, other: Pair, indent: str) -> str:
        """Both get their values from a tuple, which fails as a whole."""
        return (
            f"{indent}p = T(lambda: ({one[1]}, {other[1]}))\n"
            f"{indent}{x} = T(lambda: R(p)[0])\n{indent}{y} = T(lambda: R(p)[1])\n"
        )

    def choice(self, depth: int, indent: str) -> Pair:
        text, python = "", ""
        for number in range(self.random.randint(1, 3)):
            condition = self.condition()
            body = self.block(depth - 1, indent + "  ")
            text += f"{' else ' if number else ''}if ({condition[0]}) {{ {body[0]} }}"
            python += f"{indent}{'el' if number else ''}if {condition[1]}:\n{body[1]}"
        if self.random.random() < 0.5:
            body = self.block(depth - 1, indent + "  ")
            text, python = f"{text} else {{ {body[0]} }}", f"{python}{indent}else:\n{body[1]}"
        return text, python

    def loop(self, depth: int, indent: str) -> Pair:
        name, vec = self.name(), self.random.choice(self.vecs)
        self.readable.append(name)
        self.loops += 1
        body = self.block(depth - 1, indent + "  ")
        self.loops -= 1
        self.readable.remove(name)
        return f"for ({name} in {vec}) {{ {body[0]} }}", f"{indent}for {name} in {vec}:\n{body[1]}"


def _functions(random: Random) -> Pair:
    """Two functions that may call each other and themselves; what ends the recursion calls nothing."""
    made: list[Pair] = []
    for name in ("f", "g"):
        writer = _Writer(random, ())
        first = writer.number(1)
        writer.calls = ("f", "g")
        statements = [writer.statement(3, "  ") for _ in range(random.randint(1, 5))]
        result = writer.number()
        text = f"function {name}(n: int, a: int, v: vec<int>): int {{ if (n <= 0) {{ return {first[0]}; }} "
        text += f"{' '.join(s[0] for s in statements)} {result[0]} }}"
        python = f"def {name}(n, a, v):\n  if R(n) <= 0: return {first[1]}\n"
        made.append((text, f"{python}{''.join(s[1] for s in statements)}  return {result[1]}\n"))
    return "\n".join(m[0] for m in made), "".join(m[1] for m in made)


def _rows(random: Random) -> list[tuple[int, int, tuple[int, ...]]]:
    def vec() -> tuple[int, ...]:
        return tuple(random.randint(-3, 9) for _ in range(random.choice([0, 1, 2, 3])))

    return [(random.randint(-1, 2), random.choice([-2, 0, 1, 5, 2**40]), vec()) for _ in range(ROWS)]


@pytest.mark.parametrize("seed", range(size(40, 3000)))
def test_a_function_gives_what_python_gives(seed: int) -> None:
    random = Random(seed)
    text, python = _functions(random)
    functions = load(text).functions
    namespace = dict(_PYTHON)
    exec(python, namespace)  # written by this module
    rows = _rows(random)
    codec = Codec()
    types: dict[str, Type] = {"n": INT, "a": INT, "v": Vec(INT)}
    columns = {
        name: codec.encode_column(t, [row[i] for row in rows]) for i, (name, t) in enumerate(types.items())
    }
    call = Call("f", tuple(Var(name, t) for name, t in types.items()), INT)
    outcome = Evaluator(codec, functions).evaluate(call, columns, len(rows))
    failures = np.zeros(len(rows)) if outcome.failures is None else outcome.failures
    for i, row in enumerate(rows):
        expected = _tried(lambda row=row: namespace["f"](*row))  # type: ignore[misc]
        referred = evaluate(call, dict(zip(types, row, strict=True)), functions)
        found: object = None if failures[i] else codec.decode(INT, int(outcome.codes[i]))
        wanted = None if isinstance(expected, _Failed) else expected
        assert found == wanted, (row, text)
        assert (None if isinstance(referred, Failure) else referred) == wanted, (row, text)


@pytest.mark.parametrize("seed", range(size(10, 300)))
def test_a_function_is_read_back_as_it_was_printed(seed: int) -> None:
    text, _ = _functions(Random(seed))
    program = parse(text)
    printed = print_program(program)
    assert parse(printed) == program
    assert print_program(parse(printed)) == printed
