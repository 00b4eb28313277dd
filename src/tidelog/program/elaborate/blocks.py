"""Blocks of `var` with a result, as expressions."""

from __future__ import annotations

from tidelog.data.types import Type
from tidelog.errors import Span
from tidelog.program.elaborate.choices import Choices
from tidelog.program.elaborate.early import Attempt, with_attempts
from tidelog.program.typed import Expr, Let, Var
from tidelog.syntax import tree
from tidelog.syntax.chains import SHORT
from tidelog.syntax.variables import pattern_names

__all__ = ["Blocks"]


class Blocks(Choices):
    def _block(self, expr: tree.Block, wanted: Type | None) -> Expr | None:
        before, is_expanding = self._scoped({}), self._is_expanding
        if (
            len(expr.bindings) > SHORT
        ):  # engines evaluate names of our own at once, so that none waits for another
            self._is_expanding = True
        values: list[tuple[str, Expr] | Attempt] = []
        sound = True
        with self._perhaps(expr):
            for binding in expr.bindings:
                value = self._infer(binding.value)
                made = self._bound_values(binding, value)
                sound = sound and made is not None
                values += self._take_attempts()
                values += made or []
            result = self._infer(expr.result, wanted)
        self._leave(before)
        self._is_expanding = is_expanding
        if result is None or not sound:
            return None
        return self._with_values(values, result, expr.result.span)

    def _take_attempts(self) -> list[Attempt]:
        taken = list(self._early.attempts or ())
        if self._early.attempts is not None:
            self._early.attempts.clear()
        return taken

    def _with_values(self, values: list[tuple[str, Expr] | Attempt], result: Expr, span: Span) -> Expr | None:
        """The result of a block, after what is bound and attempted in it."""
        if self._early.result is not None and any(isinstance(value, Attempt) for value in values):
            fitted = self._fit(result, self._early.result, span)
            if fitted is None:
                return None
            result = fitted
        for value in reversed(values):
            if isinstance(value, Attempt):
                result = with_attempts([value], result)
            else:
                result = Let(*value, result, result.type)
        return result

    def _bound_values(
        self, binding: tree.Assignment | tree.Destructuring, value: Expr | None
    ) -> list[tuple[str, Expr]] | None:
        """The names that a `var` brings into scope, with their values; None after an error."""
        if isinstance(binding, tree.Assignment):
            self._taken(binding.name, binding.name_span)
            self.variables[binding.name] = value.type if value else None
            self._renamed[binding.name] = own = self._binder(binding.name)
            return None if value is None else [(own, value)]
        if value is None:
            self.variables |= dict.fromkeys(pattern_names(binding.pattern))
            return None
        whole = Var(self._name("part"), value.type)
        matched = self.match_pattern(binding.pattern, whole, in_body=False)
        if matched is None or not self._expect_certain(binding.pattern, matched.shape, value.type):
            self.variables |= dict.fromkeys(pattern_names(binding.pattern))
            return None
        self.variables |= {name: part.type for name, part, _ in matched.names}
        self._renamed |= matched.binders
        return [(whole.name, value), *((matched.binders[name], part) for name, part, _ in matched.names)]
