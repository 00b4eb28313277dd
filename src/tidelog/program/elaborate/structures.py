"""Inference for structured values: constructors, tuples, collections, fields, `match`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tidelog.data import types
from tidelog.data.types import Named, Type
from tidelog.errors import Span
from tidelog.program.elaborate.exhaustive import Shape, TooComplex, missing, unreachable
from tidelog.program.elaborate.operators import balanced, choice_of, is_flexible
from tidelog.program.elaborate.patterns import Matched, Patterns
from tidelog.program.elaborate.unknowns import as_unknown
from tidelog.program.library.catalog import FUNCTION_NAMES
from tidelog.program.typed import Call, Constant, Expr, Get, Let, Listing, Make, Var
from tidelog.syntax import tree
from tidelog.syntax.chains import SHORT

__all__ = ["MOST_CASES", "Structures"]

MOST_CASES: Final = 1024


class Structures(Patterns):
    # -- building values

    def _construct(self, expr: tree.Construct, wanted: Type | None) -> Expr | None:
        definition = self._constructor_type(expr)
        if definition is None:
            for argument in expr.args:
                self._infer(argument.value)
            return None
        type_ = self._opened(definition, wanted, expr.span)
        fields = self.known.types.fields(type_, expr.constructor)
        placed = self._placed(expr, fields, is_pattern=False)
        if placed is None:
            return None
        made: dict[int, Expr | None] = {}
        values = [value for value in placed if value is not None]
        for i in _typed_first(values):
            made[i] = self._check(values[i], fields[i].type)
        sound = tuple(x for i in range(len(values)) if (x := made[i]) is not None)
        return Make(expr.constructor, sound, type_) if len(sound) == len(values) else None

    def _tuple(self, expr: tree.TupleValue, wanted: Type | None) -> Expr | None:
        found = self._present(wanted)
        items: list[Expr | None]
        if isinstance(found, types.Tuple) and len(found.items) == len(expr.items):
            items = [self._check(x, type_) for x, type_ in zip(expr.items, found.items, strict=True)]
        else:
            items = [self._infer(x) for x in expr.items]
        sound = tuple(x for x in items if x is not None)
        if len(sound) < len(items):
            return None
        return Make("", sound, types.Tuple(tuple(x.type for x in sound)))

    def _vec(self, expr: tree.VecLiteral, wanted: Type | None) -> Expr | None:
        found = self._present(wanted)
        item = found.item if isinstance(found, types.Vec) else self._item(expr.items, expr.span, "items")
        sound = self._items(expr.items, item, "the items of a vec")
        return None if sound is None else Listing(sound, types.Vec(item))

    def _map(self, expr: tree.MapLiteral, wanted: Type | None) -> Expr | None:
        found = self._present(wanted)
        keys, values = [k for k, _ in expr.entries], [v for _, v in expr.entries]
        if isinstance(found, types.Map):
            key, value = found.key, found.value
        else:
            key, value = self._item(keys, expr.span, "keys"), self._item(values, expr.span, "values")
        typed_keys = self._items(keys, key, "the keys of a map")
        typed_values = self._items(values, value, "the values of a map")
        if typed_keys is None or typed_values is None:
            return None
        pair = types.Tuple((key, value))
        pairs = zip(typed_keys, typed_values, strict=True)
        entries = Listing(tuple(Make("", entry, pair) for entry in pairs), types.Vec(pair))
        return Call("to_map", (entries,), types.Map(key, value))

    def _item(self, items: Sequence[tree.Expr], span: Span, what: str) -> Type:
        """An unknown type for some items; an option if one of them is `none`."""
        is_option = any(isinstance(x, tree.NoneLiteral) for x in items)
        message = f"the type of the {what} of this collection is unknown"
        made = self._unknown(span, message, "write `[] as vec<int>`, for example", is_item=is_option)
        return types.Option(made) if is_option else made  # type: ignore[arg-type]

    def _items(self, items: Sequence[tree.Expr], wanted: Type, what: str) -> tuple[Expr, ...] | None:
        """Items of one type; those with a type of their own determine it."""
        made: dict[int, Expr | None] = {}
        first: int | None = None
        for i in _typed_first(items):
            typed = self._infer(items[i], wanted)
            if typed is not None and first is not None and not self._fits(typed, wanted):
                have, want = self._known(typed.type), self._known(wanted)
                message = f"{what} need one type, but these are `{want}` and `{have}`"
                self.problems.report("E202", _between(items[first].span, items[i].span), message)
                typed = None
            elif typed is not None:
                typed = self._fit(typed, wanted, items[i].span)
            first = i if first is None and typed is not None else first
            made[i] = typed
        sound = tuple(x for i in range(len(items)) if (x := made[i]) is not None)
        return sound if len(sound) == len(items) else None

    def _fits(self, typed: Expr, wanted: Type) -> bool:
        """Whether a value has a type, or can become an option of it."""
        mark = self.unknowns.mark()
        want = self.unknowns.top(wanted)
        fits = self.unknowns.unify(typed.type, want)
        if not fits and isinstance(want, types.Option):
            fits = self.unknowns.unify(typed.type, want.item)
        self.unknowns.undo(mark)
        return fits

    # -- taking values apart

    def _field(self, expr: tree.FieldAccess) -> Expr | None:
        operand = self._infer(expr.operand)
        if operand is None:
            return None
        type_ = self._known(operand.type)
        match type_, expr.field:
            case types.Tuple(items), int(place) if place < len(items):
                return Get(operand, "", place, items[place])
            case Named(), str(name):
                return self._named_field(expr, operand, type_, name)
            case _:
                self._no_field(expr, type_)
                return None

    def _named_field(self, expr: tree.FieldAccess, operand: Expr, type_: Named, name: str) -> Expr | None:
        definition = self.known.types.find(type_.name)
        if not isinstance(definition, tree.TypeDefinition):
            self._no_field(expr, type_)
            return None
        if len(definition.constructors) > 1:
            has = [c.name for c in definition.constructors if any(f.name == name for f in c.fields)]
            shown = f"{has[0] if has else definition.constructors[0].name}{{..}} -> …"
            message = f"`{type_}` has several constructors, so `.{name}` may not exist"
            remedy = f"take it apart with `match (…) {{ {shown}, _ -> … }}`"
            self.problems.report("E119", expr.name_span, message, hint=remedy)
            return None
        constructor = definition.constructors[0].name
        fields = self.known.types.fields(type_, constructor)
        found = next((i for i, f in enumerate(fields) if f.name == name), None)
        if found is None:
            hint = self.problems.suggest(name, [f.name for f in fields])
            self.problems.report("E119", expr.name_span, f"unknown field `{name}` in `{type_}`", hint=hint)
            return None
        return Get(operand, constructor, found, fields[found].type)

    def _no_field(self, expr: tree.FieldAccess, type_: Type) -> None:
        if as_unknown(type_) is not None:
            message = "the type of this value is not known here, so it cannot be taken apart"
            remedy = "give the parameter of the closure a type: `|x: T| …`"
            self.problems.report("E209", expr.operand.span, message, hint=remedy)
            return
        hint = None
        if isinstance(type_, types.Option):
            hint = "use `unwrap_or(…, …)` to supply a default for a missing value"
        elif expr.field in FUNCTION_NAMES:
            hint = f"call the function: `.{expr.field}(…)`"
        message = f"`{type_}` has no field `{expr.field}`"
        self.problems.report("E119", expr.name_span, message, hint=hint)

    def _match_cases(self, expr: tree.Match, wanted: Type | None) -> Expr | None:
        """`match` as conditionals, with the parts of the subject under their names."""
        if len(expr.cases) > MOST_CASES:
            self._too_many_cases(expr)
            return None
        subject = self._infer(expr.subject)
        if subject is None:
            return None
        name = None if isinstance(subject, Var | Constant) else self._name("match")
        value = subject if name is None else Var(name, subject.type)
        cases = [self.match_pattern(case.pattern, value, in_body=False) for case in expr.cases]
        values = self._case_values(expr, cases, wanted)
        sound = [c for c in cases if c is not None]
        if values is None or len(sound) < len(cases) or not self._covers(expr, subject.type, sound):
            return None
        result = _cases(sound, values)
        return result if name is None else Let(name, subject, result, result.type)

    def _too_many_cases(self, expr: tree.Match) -> None:
        message = f"this `match` exceeds the limit of {MOST_CASES} cases"
        self.problems.report("E006", expr.span, message, hint="use a relation instead")

    def _case_values(
        self, expr: tree.Match, found: list[Matched | None], wanted: Type | None
    ) -> list[Expr] | None:
        """The values of the cases, of one type."""
        cases = expr.cases
        made: dict[int, Expr | None] = {}
        common: Type | None = None
        for i in _typed_first([case.value for case in cases]):
            matched = found[i]
            names = {} if matched is None else {name: value.type for name, value, _ in matched.names}
            before = self._scoped(names, matched.binders if matched else {})
            with self._perhaps(expr):
                made[i] = typed = self._infer(cases[i].value, common or wanted)
            self._leave(before)
            if typed is not None:
                common = self._common(common, typed)
        if common is None:
            return None
        for i, typed in made.items():
            made[i] = None if typed is None else self._fit_case(typed, common, cases[i].value.span)
        sound = [x for i in range(len(cases)) if (x := made[i]) is not None]
        return sound if len(sound) == len(cases) else None

    def _common(self, before: Type | None, typed: Expr) -> Type:
        """The type of some values and one more: an option, if that one is an option of it."""
        if before is None:
            return typed.type
        new = self.unknowns.top(typed.type)
        if isinstance(new, types.Option) and not isinstance(self.unknowns.top(before), types.Option):
            return new if self.unknowns.unify(new.item, before) else before
        return before

    def _fit_case(
        self, typed: Expr, common: Type, span: Span, what: str = "cases of a `match`"
    ) -> Expr | None:
        if self._fits(typed, common):
            return self._fit(typed, common, span)
        have, want = self._known(typed.type), self._known(common)
        message = f"the {what} need one type, but these are `{want}` and `{have}`"
        self.problems.report("E202", span, message)
        return None

    def _covers(self, expr: tree.Match, type_: Type, cases: list[Matched]) -> bool:
        """Whether the cases match all values; if not, that is reported. Cases without effect are, too."""
        known = self._known(type_)
        shapes: list[Shape] = [c.shape for c in cases]
        try:
            others = missing(shapes, known, self.known.types)
            idle = unreachable(shapes, known, self.known.types)
        except TooComplex:
            others, idle = ([] if shapes[-1] is None else ["_"]), []
        for number in idle:
            message = "this case never applies: the cases before it match all its values"
            self.problems.report("W009", expr.cases[number].span, message)
        if others:
            message = "this `match` does not cover all values"
            note = f"missing: {', '.join(f'`{x}`' for x in others)}"
            hint = "add these cases, or `_ -> …`"
            self.problems.report("E210", expr.span, message, note=note, hint=hint)
        return not others


def _typed_first(exprs: Sequence[tree.Expr]) -> list[int]:
    """The positions of expressions with a type of their own, then those that take it from the context."""
    return sorted(range(len(exprs)), key=lambda i: (is_flexible(exprs[i]), i))


def _between(first: Span, second: Span) -> Span:
    return first.to(second) if first.start <= second.start else second.to(first)


def _with_names(matched: Matched, value: Expr) -> Expr:
    for name, part, _ in reversed(matched.names):
        value = Let(matched.binders[name], part, value, value.type)
    return value


def _cases(cases: list[Matched], values: list[Expr]) -> Expr:
    """The value of the first case that matches. The last one matches all that is left."""
    last = next((i for i, c in enumerate(cases) if not c.conditions), len(cases) - 1)
    conditions = [balanced("and", c.conditions, SHORT) for c in cases[:last]]
    return choice_of(conditions, [_with_names(c, v) for c, v in zip(cases, values, strict=True)][: last + 1])
