"""Statements, as the steps of a typed block.

In the body of a function that has statements, the value of each tail becomes a `return`: of the result of the
block, and of the branches of an `if` or `match` there. Elsewhere a block with statements is an expression by
itself, which can only assign variables of its own.

`e?` returns from within: what it needs is done before the statement that contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.data import types
from tidelog.data.types import BOOL, Type
from tidelog.errors import Span
from tidelog.program.elaborate.blocks import Blocks
from tidelog.program.elaborate.early import NO_FUNCTION, Attempt, Early, has_steps, tails
from tidelog.program.elaborate.operators import balanced
from tidelog.program.elaborate.patterns import Matched
from tidelog.program.elaborate.structures import MOST_CASES
from tidelog.program.steps import Assign, Branch, Jump, Loop, Return, Step, Steps
from tidelog.program.typed import Block, Expr, Var
from tidelog.syntax import tree
from tidelog.syntax.chains import SHORT, conditionals
from tidelog.syntax.rebuilding import rebuilt
from tidelog.syntax.variables import bound_names, pattern_names

__all__ = ["Statements"]


@dataclass(slots=True)
class _Procedure:
    """The block whose statements are being elaborated.

    `result` is its type, None as long as nothing is known of it. `declared` are its variables in scope, with
    the place of their declaration. `loops` counts the loops around a statement.
    """

    result: Type | None
    is_function: bool
    declared: dict[str, Span] = field(default_factory=dict)
    loops: int = 0
    is_sound: bool = True


class Statements(Blocks):
    _procedure = _Procedure(None, is_function=False)

    # -- blocks

    def _body(self, body: tree.Expr, result: Type) -> Expr | None:
        before = self._early
        self._early = Early(result, tails(body))
        made = self._whole(body, result, is_function=True) if has_steps(body) else self._check(body, result)
        self._early = before
        return made

    def _steps(self, expr: tree.Steps, wanted: Type | None) -> Expr | None:
        """A block with statements, as an expression by itself."""
        before, self._early = self._early, NO_FUNCTION
        made = self._whole(expr, self._top(wanted), is_function=False)
        self._early = before
        return made

    def _whole(self, body: tree.Expr, result: Type | None, *, is_function: bool) -> Expr | None:
        before = self._procedure
        self._procedure = inside = _Procedure(result, is_function)
        steps: list[Step] = []
        try:
            ends = self._tail(body, steps)
        finally:
            self._procedure = before
        if ends:
            self._no_result(body, is_function=is_function)
        if ends or not inside.is_sound or inside.result is None:
            return None
        return Block(tuple(steps), inside.result)

    def _no_result(self, body: tree.Expr, *, is_function: bool) -> None:
        what = "function" if is_function else "block"
        message = f"this {what} may end without a result"
        hint = "end it with a value, without a semicolon"
        last = Span(body.span.source, max(body.span.start, body.span.end - 1), body.span.end)
        self.problems.report("E217", last, message, hint=hint)

    @contextmanager
    def _inner(self) -> Iterator[None]:
        """The scope of a block."""
        before, declared = self._scoped({}), self._procedure.declared
        self._procedure.declared = dict(declared)
        yield
        self._procedure.declared = declared
        self._leave(before)

    def _tail(self, expr: tree.Expr, steps: list[Step]) -> bool:
        """The steps of what a block ends with; whether they can be passed without a result."""
        match expr:
            case tree.Block(bindings, result):
                with self._inner():
                    return self._row((*bindings, result), steps)
            case tree.Steps(statements, result):
                with self._inner():
                    return self._row((*statements, *(() if result is None else (result,))), steps)
            case tree.Conditional() if has_steps(expr):
                row = list(conditionals(expr))
                bodies = [*(x.then for x in row), row[-1].otherwise]
                return self._chosen([x.condition for x in row], bodies, steps)
            case tree.Match() if has_steps(expr):
                return self._cases(expr, steps)
            case _:
                self._result(expr, steps)
                return False

    def _result(self, expr: tree.Expr, steps: list[Step]) -> None:
        wanted, inside = self._procedure.result, self._procedure
        if wanted is None:
            value = self._part(expr, lambda: self._infer(expr), steps, is_tail=True)
            inside.result = None if value is None else value.type
        else:
            value = self._part(expr, lambda: self._check(expr, wanted), steps, is_tail=True)
        if value is None:
            inside.is_sound = False
        else:
            steps.append(Return(value))

    def _row(self, row: Sequence[tree.Statement | tree.Expr], steps: list[Step]) -> bool:
        """Statements one after the other; whether their end is reached."""
        is_reached, is_reported = True, False
        for statement in row:
            if not is_reached and not is_reported:
                self.problems.report("W010", statement.span, "this is never reached")
                is_reported = True
            passes = self._statement(statement, steps if is_reached else [])
            is_reached = is_reached and passes
        return is_reached

    def _part(
        self, expr: tree.Expr, make: Callable[[], Expr | None], steps: list[Step], *, is_tail: bool = False
    ) -> Expr | None:
        """An expression of a statement, after the early returns in it."""
        if not self._procedure.is_function:
            return make()
        before, attempts = self._early, list[Attempt]()
        self._early = Early(before.result, tails(expr) if is_tail else frozenset(), attempts)
        made = make()
        self._early = before
        for attempt in attempts:
            steps.append(Assign(Var(attempt.name, attempt.operand.type), attempt.operand))
            steps.append(Branch((attempt.holds,), ((), (Return(attempt.returned),))))
        return made

    # -- statements

    def _statement(self, statement: tree.Statement | tree.Expr, steps: list[Step]) -> bool:
        """Elaborate a statement, or the result of a block; whether what follows it is reached."""
        match statement:
            case tree.Assignment() | tree.Destructuring():
                self._declare(statement, steps)
                return True
            case tree.Update():
                self._update(statement, steps)
                return True
            case tree.Choice(branches, otherwise):
                bodies = [
                    *(b.body for b in branches),
                    tree.Steps((), None) if otherwise is None else otherwise,
                ]
                return self._chosen([b.condition for b in branches], bodies, steps)
            case tree.Switch(subject, arms, span):
                cases = tuple(tree.Case(a.pattern, a.body, a.span) for a in arms)
                return self._cases(tree.Match(subject, cases, span), steps)
            case tree.Loop():
                self._loop(statement, steps)
                return True
            case tree.Jump(word):
                if not self._procedure.loops:
                    self._misplaced_jump(word, statement.span)
                steps.append(Jump(word))
                return False
            case tree.Return(value):
                if self._procedure.is_function:
                    self._result(value, steps)
                else:
                    self._misplaced_return(statement)
                return False
            case _:
                return self._tail(statement, steps)

    def _misplaced_jump(self, word: str, span: Span) -> None:
        self._procedure.is_sound = False
        self.problems.report(
            "E215", span, f"`{word}` must be in a loop", hint="write `for (x in values) { … }`"
        )

    def _misplaced_return(self, statement: tree.Return) -> None:
        self._procedure.is_sound = False
        self._infer(statement.value)
        message = "`return` must be a statement of a function, and not of a block inside an expression"
        self.problems.report("E215", statement.span, message, hint="end the block with its value")

    def _declare(self, statement: tree.Assignment | tree.Destructuring, steps: list[Step]) -> None:
        value = self._part(statement.value, lambda: self._infer(statement.value), steps)
        made = self._bound_values(statement, value)
        self._procedure.declared |= dict.fromkeys(bound_names(statement), statement.span)
        if made is None:
            self._procedure.is_sound = False
        for name, part in made or ():
            steps.append(Assign(Var(name, part.type), part))

    # -- assignments

    def _update(self, statement: tree.Update, steps: list[Step]) -> None:
        target = statement.target
        if isinstance(target, tree.Variable):
            is_sound = self._update_variable(target, statement.value, steps)
        else:
            is_sound = self._update_parts(target, statement.value, steps)
        if not is_sound:
            self._procedure.is_sound = False

    def _update_variable(self, target: tree.Variable, value: tree.Expr, steps: list[Step]) -> bool:
        can = self._can_assign(target.name, target.span)
        wanted = self.variables[target.name] if can else None
        typed = self._part(value, lambda: self._infer(value, wanted), steps)
        return can and typed is not None and self._assign(target.name, typed, value.span, steps)

    def _assign(self, name: str, value: Expr, span: Span, steps: list[Step]) -> bool:
        wanted = self.variables[name]
        if wanted is None:
            return False
        line = span.source.position(self._procedure.declared[name].start)[0]
        fitted = self._fit(value, wanted, span, f"`{name}` is `{self._known(wanted)}` since line {line}")
        if fitted is not None:
            steps.append(Assign(Var(self._renamed.get(name, name), wanted), fitted))
        return fitted is not None

    def _can_assign(self, name: str, span: Span) -> bool:
        """Whether a name is a variable of the block; if not, that is reported."""
        declared = self._procedure.declared
        if name in declared and name in self.variables:
            return True
        if name not in self.variables:
            hint = self.problems.suggest(name, declared) or f"declare it first: `var {name} = …;`"
            self.problems.report("E216", span, f"`{name}` is not declared", hint=hint)
            self.variables[name] = None
            declared[name] = span
        elif self.variables[name] is not None:
            message = f"`{name}` cannot be assigned: it is not a `var` of this block"
            note = "parameters, variables of loops and patterns, and those outside of the block do not change"
            self.problems.report("E216", span, message, note=note, hint="copy it to a new variable")
        return False

    def _update_parts(self, target: tree.Expr, value: tree.Expr, steps: list[Step]) -> bool:
        """`(x, y) = value;`: all parts are taken from the value before any is assigned."""
        if not isinstance(target, tree.TupleValue | tree.Construct):
            self.problems.report("E216", target.span, "this cannot be assigned: it is not a variable")
            self._infer(value)
            return False
        names = pattern_names(target)
        can = [self._can_assign(name, target.span) for name in sorted(names)]
        typed = self._part(value, lambda: self._infer(value), steps)
        if typed is None or not all(can):
            return False
        whole = Var(self._name("part"), typed.type)
        pattern = rebuilt(target, _with_new_names)
        matched = self.match_pattern(pattern, whole, in_body=False)
        if matched is None or not self._expect_certain(target, matched.shape, typed.type):
            return False
        steps.append(Assign(whole, typed))
        assigned = [self._assign(n.removeprefix(_NEW), part, span, steps) for n, part, span in matched.names]
        return all(assigned)

    # -- conditions and loops

    def _chosen(self, conditions: list[tree.Expr], bodies: Sequence[tree.Expr], steps: list[Step]) -> bool:
        first, others = conditions[0], conditions[1:]
        typed = [self._part(first, lambda: self._check(first, BOOL), steps)]
        with self._perhaps():
            typed += [self._check(condition, BOOL) for condition in others]
        made: list[Steps] = []
        passes = False
        for body in bodies:
            inside: list[Step] = []
            passes = self._tail(body, inside) or passes
            made.append(tuple(inside))
        sound = tuple(condition for condition in typed if condition is not None)
        if len(sound) < len(typed):
            self._procedure.is_sound = False
        steps.append(Branch(sound, tuple(made)))
        return passes

    def _cases(self, expr: tree.Match, steps: list[Step]) -> bool:
        """`match` as a choice between the bodies of its cases."""
        if len(expr.cases) > MOST_CASES:
            self._too_many_cases(expr)
            self._procedure.is_sound = False
            return True
        subject = self._part(expr.subject, lambda: self._infer(expr.subject), steps)
        if subject is None:
            self._procedure.is_sound = False
            return True
        value = Var(self._name("match"), subject.type)
        steps.append(Assign(value, subject))
        found = [self.match_pattern(case.pattern, value, in_body=False) for case in expr.cases]
        made: list[Steps] = []
        passes = False
        for case, matched in zip(expr.cases, found, strict=True):
            inside: list[Step] = []
            passes = self._case_body(case, matched, inside) or passes
            made.append(tuple(inside))
        sound = [matched for matched in found if matched is not None]
        if len(sound) < len(found) or not self._covers(expr, subject.type, sound):
            self._procedure.is_sound = False
            return True
        last = next((i for i, matched in enumerate(sound) if not matched.conditions), len(sound) - 1)
        conditions = tuple(balanced("and", matched.conditions, SHORT) for matched in sound[:last])
        steps.append(Branch(conditions, tuple(made[: last + 1])))
        return passes

    def _case_body(self, case: tree.Case, matched: Matched | None, steps: list[Step]) -> bool:
        names: dict[str, Type | None] = dict.fromkeys(pattern_names(case.pattern))
        if matched is not None:
            names = {name: part.type for name, part, _ in matched.names}
            steps += [Assign(Var(matched.binders[name], part.type), part) for name, part, _ in matched.names]
        before = self._scoped(names, matched.binders if matched else {})
        passes = self._tail(case.value, steps)
        self._leave(before)
        return passes

    def _loop(self, statement: tree.Loop, steps: list[Step]) -> None:
        collection = self._part(statement.collection, lambda: self._infer(statement.collection), steps)
        item = None if collection is None else self._item_type(collection, statement.collection.span)
        body: list[Step] = []
        with self._inner():
            whole = self._loop_variable(statement.pattern, item, body)
            self._procedure.loops += 1
            self._tail(statement.body, body)
            self._procedure.loops -= 1
        if collection is None or whole is None:
            self._procedure.is_sound = False
        else:
            steps.append(Loop(whole, collection, tuple(body)))

    def _item_type(self, collection: Expr, span: Span) -> Type | None:
        match self._known(collection.type):
            case types.Vec(item) | types.Set(item):
                return item
            case types.Map(key, value):
                return types.Tuple((key, value))
            case other:
                message = f"`for` needs a vec, a set or a map, but this is `{other}`"
                hint = "use `unwrap_or(…, …)` first" if isinstance(other, types.Option) else None
                self.problems.report("E202", span, message, hint=hint)
                return None

    def _loop_variable(self, pattern: tree.Expr, item: Type | None, steps: list[Step]) -> Var | None:
        """The variable of a loop; the names of a pattern are assigned in its body."""
        if isinstance(pattern, tree.Variable):
            self._taken(pattern.name, pattern.span)
            self.variables[pattern.name] = item
            self._renamed[pattern.name] = own = self._binder(pattern.name)
            return None if item is None else Var(own, item)
        whole = None if item is None else Var(self._name("item"), item)
        self._bind_item(pattern, whole, steps)
        return whole

    def _bind_item(self, pattern: tree.Expr, whole: Var | None, steps: list[Step]) -> None:
        matched = None if whole is None else self.match_pattern(pattern, whole, in_body=False)
        if whole is None or matched is None or not self._expect_certain(pattern, matched.shape, whole.type):
            self._procedure.is_sound = False
            self.variables |= dict.fromkeys(pattern_names(pattern))
            return
        self.variables |= {name: part.type for name, part, _ in matched.names}
        self._renamed |= matched.binders
        steps += [Assign(Var(matched.binders[name], part.type), part) for name, part, _ in matched.names]


_NEW = "$new."


def _with_new_names(node: Any) -> Any:
    """A part of a pattern, with names that are not in scope."""
    if isinstance(node, tree.Variable | tree.At):
        return replace(node, name=_NEW + node.name)
    return node
