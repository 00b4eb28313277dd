"""The reasoners under test, behind one interface: a program and a change of facts in, the changes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.program.model import Program
from tidelog.reference.chibi import Chibi
from tidelog.reference.circuit.reasoner import Circuit

Changes = dict[str, ZSet[Row]]


class Reasoner(Protocol):
    @property
    def contents(self) -> Mapping[str, frozenset[Row]]: ...

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> Changes: ...


class CircuitReasoner:
    """The circuit takes rules, not programs."""

    def __init__(self, *, indexed: bool) -> None:
        self._circuit = Circuit(indexed=indexed)

    @property
    def contents(self) -> Mapping[str, frozenset[Row]]:
        return self._circuit.contents

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> Changes:
        return self._circuit.commit(program.rules, facts, program.functions)


REASONERS: dict[str, Callable[[], Reasoner]] = {
    "chibi": lambda: Chibi(indexed=False),
    "chibi-indexed": lambda: Chibi(indexed=True),
    "circuit": lambda: CircuitReasoner(indexed=False),
    "circuit-indexed": lambda: CircuitReasoner(indexed=True),
}
