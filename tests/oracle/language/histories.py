"""Cases by seed: a program over a few types, and a history of transactions that does something to it.

`programs(seed)` is the whole interface. It runs the reference while it generates, so that most commits
succeed, most rules find something and nothing is large; some of the commits that fail are kept on purpose.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from oracle.language import host
from oracle.language.case import (
    Action,
    AddRule,
    Case,
    Clear,
    Delete,
    DeleteKeys,
    Ending,
    Insert,
    RemoveRule,
    Replace,
    RuleText,
    Step,
    Upsert,
)
from oracle.language.expressions import Expressions
from oracle.language.finite import ends
from oracle.language.model import Model, TooLarge
from oracle.language.patterns import pattern
from oracle.language.procedures import Procedures
from oracle.language.rules import RelationText, Rules
from oracle.language.signatures import GENERIC
from oracle.language.structures import Structures
from oracle.language.values import EVERY_TYPE, SMALL, Values
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row
from tidelog.errors import EngineError, ProgramError
from tidelog.program.draft import Draft
from tidelog.program.typed import Rule

__all__ = ["CONTEXTS", "programs"]

CONTEXTS = ("short", "trapping", "ceiling")  # decimal contexts that a host may have set


def programs(seed: int, *, structured: bool = False) -> Case:
    """The case of a seed; if it is to be structured, most columns have values with parts."""
    return _Generator(seed, structured=structured).case()


class _Generator:
    def __init__(self, seed: int, *, structured: bool) -> None:
        self.seed = seed
        self.random = Random(f"language:{seed}")
        self.values = Values(self.random, edgy=self.random.random() < 0.35)
        self.palette = self._palette(structured=structured)
        self.structures = Structures(self.random, self.palette)
        if self.random.random() < 0.6 or structured:
            self.palette += self.structures.types * (4 if structured else 1)
        else:
            self.structures.texts.clear()
        self.expressions = Expressions(self.random, self.values, self.palette, self.structures)
        self.relations: list[RelationText] = []
        self.alias = (self.random.choice(self.palette), "Named") if self.random.random() < 0.2 else None
        self.functions: list[str] = []
        self.rules: list[RuleText] = []
        self._declared: Draft | None = None
        self._typed: dict[RuleText, Rule] = {}

    def case(self) -> Case:
        self._declare()
        self._write_rules(self.random.choice([1, 2, 2, 3]))
        watched = tuple(r.name for r in self.relations if self.random.random() < 0.5)
        decimal = any("decimal" in r.text for r in self.relations)
        context = self.random.choice(CONTEXTS) if decimal and self.random.random() < 0.7 else "default"
        case = Case(self._declarations(), tuple(self.rules), (), watched, context, self.seed)
        return self._with_history(case)

    # -- the program

    def _palette(self, *, structured: bool) -> list[Type]:
        """A few types; those in which things are counted and named come often.

        Half of the structured cases have small ones only, so that engines may pack what is made of them.
        """
        if structured and self.random.random() < 0.5:
            return [types.INT, *self.random.sample(SMALL, 3)]
        drawn: list[Type] = self.random.sample(EVERY_TYPE, self.random.choice([1, 2, 3]))
        common: list[Type] = [types.INT, types.INT, types.STRING, types.DOUBLE, types.Decimal(5, 2)]
        return [*drawn, *self.random.sample(common, self.random.choice([1, 1, 2]))]

    def _declare(self) -> None:
        self.expressions.risky = self.random.random() < 0.1
        if self.random.random() < 0.2:
            self.expressions.functions += host.CALLABLE[: self.random.choice([4, 4, 5])]
        for i in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            text = self.expressions.function(f"f{i}").text
            try:
                host.draft().load("\n".join([*self.structures.texts, *self.functions, text]))
                self.functions.append(text)
            except ProgramError:
                self.expressions.functions.pop()
        if self.random.random() < 0.35:
            self._write_procedures()
        if self.random.random() < 0.2:
            chosen = self.random.sample(list(GENERIC), self.random.choice([1, 2]))
            self.expressions.generic += chosen
            self.functions += [GENERIC[f] for f in chosen]
        has_pattern = self.random.random() < 0.3
        for i in range(self.random.choice([1, 2] if has_pattern else [2, 2, 3])):
            self.relations.append(self._relation(f"In{i}", "input", 0))
        for i in range(1 if has_pattern else self.random.choice([1, 2, 2, 3])):
            role = self.random.choice(["output", "output", ""])
            self.relations.append(self._relation(f"D{i}", role, i + 1))
        if has_pattern:
            relations, rules = pattern(
                self.random, self.random.choice(self.palette), self.random.choice(self.palette)
            )
            self.relations += relations
            trial = [*self.rules, *rules]
            if self._elaborates(trial):
                self.rules = trial

    def _write_procedures(self) -> None:
        """Functions with statements and recursion, and aggregates of the program."""
        maker = Procedures(self.random, self.expressions)
        for i in range(self.random.choice([0, 1, 1, 2])):
            function = maker.function(f"h{i}")
            if self._declares(function.text):
                self.expressions.functions.append(function)
        for i in range(self.random.choice([0, 1, 1, 2])):
            make = maker.of_vec if self.random.random() < 0.3 else maker.with_state
            made = make(f"agg{i}")
            if self._declares(made.text):
                self.expressions.aggregates.append(made)

    def _declares(self, text: str) -> bool:
        """Add a declaration, if it is one."""
        try:
            host.draft().load("\n".join([*self.structures.texts, *self.functions, text]))
        except ProgramError:
            return False
        self.functions.append(text)
        return True

    def _relation(self, name: str, role: str, level: int) -> RelationText:
        count = self.random.choice([1, 1, 2, 2, 2, 3, 3, 4])
        draw = self.random.random()
        if draw < 0.06:
            count = 0
        elif draw > 0.95:
            count = self.random.randint(5, 12)
        columns = tuple(self.random.choice(self.palette) for _ in range(count))
        key = None
        whole = [i for i, t in enumerate(columns) if not isinstance(t, types.Option)]
        if role == "input" and whole and self.random.random() < 0.3:
            key = tuple(sorted(self.random.sample(whole, min(len(whole), self.random.choice([1, 1, 2])))))
        return RelationText(name, columns, role, level, key, self.alias)

    def _declarations(self) -> tuple[str, ...]:
        typedefs = (f"typedef {self.alias[1]} = {self.alias[0]}",) if self.alias else ()
        return (*self.structures.texts, *typedefs, *(r.text for r in self.relations), *self.functions)

    def _elaborates(self, rules: list[RuleText]) -> bool:
        """Whether these rules are a program that ends."""
        if self._declared is None:
            self._declared = host.draft()
            self._declared.load("\n".join(self._declarations()))
        try:
            for rule in rules:
                if rule not in self._typed:
                    self._typed[rule] = self._declared.copy().add_rule(rule.text)
            known = self._declared.finish()
            typed = {self._typed[r].id: self._typed[r] for r in rules}
            return ends(Draft(replace(known, rules=typed)).finish())
        except ProgramError:
            return False

    def _write_rules(self, count: int) -> None:
        maker = Rules(self.random, self.expressions, self.relations)
        for _ in range(12 * count):
            rule = self._written(maker, 0.12)
            if rule not in self.rules and self._elaborates([*self.rules, rule]):
                self.rules.append(rule)
                count -= 1
                if count <= 0:
                    return

    def _written(self, maker: Rules, failing: float) -> RuleText:
        draw = self.random.random()
        if draw < failing and (rule := maker.failing()) is not None:
            return rule
        return maker.recursive() if draw > 0.85 else maker.rule()

    # -- the history

    def _with_history(self, case: Case) -> Case:
        """Steps that the reference can take; rules that it cannot take at all are left out."""
        model = self._model(case)
        while model is None:
            case = Case(case.declarations, case.rules[:-1], (), case.watched, case.context, self.seed)
            model = self._model(case)
        steps: list[Step] = []
        self._maker = Rules(self.random, self.expressions, self.relations)
        for number in range(self.random.choice([4, 4, 5, 5])):
            step = self._accepted(model, first=number == 0)
            if step is not None:
                steps.append(step)
        return Case(case.declarations, case.rules, tuple(steps), case.watched, case.context, self.seed)

    @staticmethod
    def _model(case: Case) -> Model | None:
        try:
            return Model(case)
        except (EngineError, TooLarge):
            return None

    def _accepted(self, model: Model, *, first: bool) -> Step | None:
        """A step that succeeds, or now and then one that fails; the model takes it."""
        for _ in range(6):
            step = self._first_step() if first else self._step(model)
            before = model.program, model.given, model.contents, model.rules
            try:
                ended = model.take(step, ask=False).ended
            except TooLarge:
                model.program, model.given, model.contents, model.rules = before
                continue
            if ended in ("committed", "rolled back") or self.random.random() < 0.6:
                return step
        return None

    def _first_step(self) -> Step:
        count = self.random.choice([3, 5, 8])
        return Step(tuple(Insert(r.name, self._rows(r, count)) for r in self.relations if r.level == 0))

    def _rows(self, relation: RelationText, count: int) -> tuple[Row, ...]:
        rows = [self.values.row(relation.types) for _ in range(self.random.randint(1, count))]
        if relation.key is None or self.random.random() < 0.03:
            return tuple(rows)
        kept = {repr([row[i] for i in relation.key]): row for row in rows}
        return tuple(kept.values())

    def _step(self, model: Model) -> Step:
        draw = self.random.random()
        actions: list[Action] = []
        if draw < 0.04:
            actions += self._replacement(model)
        elif draw < 0.3:
            actions += self._rule_edits(model)
        if not actions or self.random.random() < 0.6:
            actions += [self._fact_edit(model) for _ in range(self.random.choice([1, 1, 2, 3]))]
        ending = self.random.choice(
            [Ending()] * 8 + [Ending(preview=True), Ending(preview=True, commit=False), Ending(commit=False)]
        )
        return Step(tuple(actions), ending)

    def _fact_edit(self, model: Model) -> Action:
        there = [r for r in self.relations if r.name in model.program.relations or self.random.random() < 0.1]
        inputs = [r for r in there if r.level == 0] or self.relations
        relation = self.random.choice(inputs if self.random.random() < 0.9 else there or self.relations)
        held = sorted(model.given.get(relation.name, ()), key=repr)
        draw = self.random.random()
        if relation.key and draw < 0.35:
            return Upsert(relation.name, self._rows(relation, 3))
        if relation.key and draw < 0.5:
            keys = tuple(tuple(row[i] for i in relation.key) for row in self._rows(relation, 2))
            return DeleteKeys(relation.name, keys)
        if draw > 0.97:
            return Clear(relation.name)
        if held and self.random.random() < 0.5:
            gone = self.random.sample(held, min(len(held), self.random.choice([1, 1, 2, 8])))
            return Delete(relation.name, tuple(self.values.given(relation.types, row) for row in gone))
        if self.random.random() < 0.05:
            return Delete(relation.name, self._rows(relation, 2))
        return Insert(relation.name, self._rows(relation, 3))

    def _rule_edits(self, model: Model) -> list[Action]:
        rules = list(model.rules.values())
        edits: list[Action] = []
        if rules and self.random.random() < 0.5:
            edits.append(RemoveRule(self.random.choice(rules)))
            rules.remove(edits[0].rule)  # type: ignore[union-attr]
        if not edits or self.random.random() < 0.5:
            for _ in range(8):
                rule = self._written(self._maker, 0.15)
                if rule not in rules and (self._elaborates([*rules, rule]) or self.random.random() < 0.02):
                    edits.append(AddRule(rule))
                    break
        return edits

    def _replacement(self, model: Model) -> list[Action]:
        """Another program: some rules go, some come, and a relation that nothing mentions may be gone."""
        kept = [r for r in model.rules.values() if self.random.random() < 0.7]
        for _ in range(4):
            rule = self._maker.rule()
            if self._elaborates([*kept, rule]):
                kept.append(rule)
                break
        if not self._elaborates(kept):
            return []
        texts = " ".join(rule.text for rule in kept)
        gone = {r.text for r in self.relations if f"{r.name}(" not in texts and self.random.random() < 0.4}
        return [Replace(tuple(d for d in self._declarations() if d not in gone), tuple(kept))]
