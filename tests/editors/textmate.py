"""A small interpreter of TextMate grammars, line by line as editors do it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tidelog.editors.textmate import SCOPES
from tidelog.editors.tokens import Kind

Rule = dict[str, Any]


@dataclass(frozen=True)
class Open:
    """A rule that has begun and not ended."""

    rule: Rule
    patterns: list[Rule]
    inside: Kind


class Grammar:
    def __init__(self, data: Rule) -> None:
        self.repository: dict[str, Rule] = data["repository"]
        self.start = Open({}, self._flat(data["patterns"]), Kind.BLANK)

    def kinds(self, text: str) -> list[Kind]:
        """The kind of each character."""
        found: list[Kind] = []
        stack = [self.start]
        for line in text.splitlines(keepends=True):
            found += self._line(line, stack)
        return found

    def _line(self, line: str, stack: list[Open]) -> list[Kind]:
        kinds = [stack[-1].inside] * len(line)
        place = 0
        while place <= len(line):
            step = self._next(line, place, stack[-1])
            if step is None:
                break
            found, rule = step
            kinds[place : found.start()] = [stack[-1].inside] * (found.start() - place)
            is_end = rule is stack[-1].rule
            kind = _kind(rule, stack[-2 if is_end else -1].inside)
            kinds[found.start() : found.end()] = [kind] * (found.end() - found.start())
            for number, capture in rule.get("captures", {}).items():
                start, end = found.span(int(number))
                kinds[start:end] = [_kind(capture, kind)] * (end - start)
            if is_end:
                stack.pop()
            elif "begin" in rule:
                inside = Kind.BLANK if "contentName" in rule or "name" not in rule else kind
                stack.append(Open(rule, self._flat(rule.get("patterns", [])), inside))
            place = found.end()
            kinds[place:] = [stack[-1].inside] * (len(line) - place)
        return kinds

    def _next(self, line: str, place: int, open_: Open) -> tuple[re.Match[str], Rule] | None:
        best: tuple[re.Match[str], Rule] | None = None
        ending = [(open_.rule["end"], open_.rule)] if open_.rule else []
        for pattern, rule in [*ending, *((r.get("match") or r["begin"], r) for r in open_.patterns)]:
            found = _compiled(pattern).search(line, place)
            if (
                found
                and (found.end() > place or rule is open_.rule)
                and (best is None or found.start() < best[0].start())
            ):
                best = found, rule
        return best

    def _flat(self, patterns: list[Rule]) -> list[Rule]:
        return list(self._included(patterns))

    def _included(self, patterns: list[Rule]) -> Iterator[Rule]:
        for pattern in patterns:
            if "include" in pattern:
                named = self.repository[pattern["include"][1:]]
                yield from self._included(named["patterns"]) if "begin" not in named else (named,)
            else:
                yield pattern


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _kind(rule: Rule, otherwise: Kind) -> Kind:
    name: str = rule.get("name", "")
    return next((kind for scope, kind in SCOPES.items() if name.startswith(scope)), otherwise)
