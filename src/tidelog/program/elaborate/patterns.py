"""Patterns: taking a value apart into conditions and names.

A pattern is a name, `_`, a literal, a tuple, a constructor with patterns for its fields, `some(…)`, `none`,
or `name @ pattern`. In the body of a rule a part may also be any other expression; it must then equal that
part of the value, and is typed later, when all variables are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.data import types
from tidelog.data.types import BOOL, Field, Named, Type
from tidelog.errors import Span
from tidelog.program.elaborate.exhaustive import Case, Shape, TooComplex, missing
from tidelog.program.elaborate.foreign import value_hint
from tidelog.program.elaborate.inference import Inference
from tidelog.program.elaborate.unknowns import as_unknown
from tidelog.program.typed import Binary, Call, Constant, Expr, Get, Is
from tidelog.syntax import tree

__all__ = ["Matched", "Patterns", "is_pattern", "of_two_types"]


@dataclass(slots=True)
class Matched:
    """What a pattern asks of a value: conditions, in order, and names for its parts.

    `equations` are parts that must equal an expression; `binders` are the names of local variables.
    """

    conditions: list[Expr] = field(default_factory=list)
    names: list[tuple[str, Expr, Span]] = field(default_factory=list)
    equations: list[tuple[Expr, tree.Expr]] = field(default_factory=list)
    shape: Shape = None
    binders: dict[str, str] = field(default_factory=dict)


def is_pattern(expr: tree.Expr) -> bool:
    """Whether an argument takes a value apart."""
    match expr:
        case tree.Construct() | tree.TupleValue() | tree.At() | tree.Call("some", (_,)):
            return True
        case _:
            return False


def of_two_types(name: str, one: Type, other: Type | None) -> str:
    """The remedy for a variable that is matched with columns of two types."""
    items = [type_.item for type_ in (one, other) if isinstance(type_, types.Option)]
    if len(items) == 1 and items[0] in (one, other):
        return f"match the value of the option with `some({name})`"
    return "match it under another name, convert it with `as`, and compare"


class Patterns(Inference):
    def match_pattern(self, pattern: tree.Expr, value: Expr, *, in_body: bool) -> Matched | None:
        """What a pattern asks of a value, or None after reporting an error."""
        matched = Matched()
        shape = self._shape(pattern, value, matched, in_body)
        matched.shape = shape if isinstance(shape, Case) else None
        return None if shape is False else matched

    def _shape(self, pattern: tree.Expr, value: Expr, matched: Matched, in_body: bool) -> Shape | bool:
        """The shape of a pattern; False after reporting an error."""
        match pattern:
            case tree.Wildcard():
                return None
            case tree.Variable(name):
                return self._named(name, pattern.span, value, matched, in_body)
            case tree.At(name, inside):
                named = self._named(name, pattern.name_span, value, matched, in_body)
                return False if named is False else self._shape(inside, value, matched, in_body)
            case tree.TupleValue(items):
                return self._tuple_shape(pattern, items, value, matched, in_body)
            case tree.Construct():
                return self._constructor_shape(pattern, value, matched, in_body)
            case tree.NoneLiteral():
                return self._none_shape(pattern, value, matched)
            case tree.Call("some", (inside,)):
                return self._some_shape(pattern, inside, value, matched, in_body)
            case _ if in_body:
                matched.equations.append((value, pattern))
                return Case(object())
            case tree.BoolLiteral() | tree.StringLiteral() | tree.BytesLiteral() | tree.Cast():
                return self._literal_shape(pattern, value, matched)
            case tree.IntLiteral() | tree.FractionLiteral() | tree.DurationLiteral() | tree.Unary():
                return self._literal_shape(pattern, value, matched)
            case tree.WidthLiteral():
                return self._literal_shape(pattern, value, matched)
            case _:
                self._not_a_pattern(pattern.span)
                return False

    def _not_a_pattern(self, span: Span) -> None:
        self.problems.report(
            "E211",
            span,
            "this is not a pattern",
            note="a pattern is made of names, `_`, constants, tuples and constructors",
            hint="match the part under a name, and compare it afterwards",
        )

    def _named(self, name: str, span: Span, value: Expr, matched: Matched, in_body: bool) -> Shape | bool:
        if not in_body:
            if any(known == name for known, _, _ in matched.names):
                self.problems.report("E303", span, f"`{name}` occurs twice in this pattern")
                return False
            self._taken(name, span)
            matched.binders[name] = self._binder(name)
        matched.names.append((name, value, span))
        return None

    def _is_a(self, value: Expr, type_: Type, span: Span) -> bool:
        """Whether a pattern of a type can match a value; if not, that is reported."""
        if self.unknowns.unify(value.type, type_):
            return True
        have, want = self._known(type_), self._known(value.type)
        hint = None
        if isinstance(want, types.Option) and self.unknowns.unify(want.item, have):
            hint = "match the value of an option with `some(…)`"
        self.problems.report("E201", span, f"expected `{want}`, but this pattern is `{have}`", hint=hint)
        return False

    def _tuple_shape(
        self, pattern: tree.Expr, items: tuple[tree.Expr, ...], value: Expr, matched: Matched, in_body: bool
    ) -> Shape | bool:
        what = "the type of this part is unknown"
        wanted = types.Tuple(tuple(self._unknown(item.span, what) for item in items))
        if not self._is_a(value, wanted, pattern.span):
            return False
        parts = [
            self._shape(item, Get(value, "", i, self._known(wanted.items[i])), matched, in_body)
            for i, item in enumerate(items)
        ]
        return _case("", parts)

    def _constructor_shape(
        self, pattern: tree.Construct, value: Expr, matched: Matched, in_body: bool
    ) -> Shape | bool:
        definition = self._constructor_type(pattern)
        if definition is None:
            return False
        type_ = self._opened(definition, value.type, pattern.span)
        if not self._is_a(value, type_, pattern.name_span):
            return False
        known = self._known(type_)
        assert isinstance(known, Named)
        fields = self.known.types.fields(known, pattern.constructor)
        placed = self._placed(pattern, fields, is_pattern=True)
        if placed is None:
            return False
        if len(definition.constructors) > 1:
            matched.conditions.append(Is(value, pattern.constructor, BOOL))
        parts: list[Shape | bool] = []
        for i, part in enumerate(placed):
            access = Get(value, pattern.constructor, i, fields[i].type)
            parts.append(None if part is None else self._shape(part, access, matched, in_body))
        return _case(pattern.constructor, parts)

    def _none_shape(self, pattern: tree.NoneLiteral, value: Expr, matched: Matched) -> Shape | bool:
        wanted = types.Option(self._unknown(pattern.span, "the type of this `none` is unknown", is_item=True))  # type: ignore[arg-type]
        if not self._is_a(value, wanted, pattern.span):
            return False
        matched.conditions.append(Call("is_none", (value,), BOOL))
        return Case("none")

    def _some_shape(
        self, pattern: tree.Call, inside: tree.Expr, value: Expr, matched: Matched, in_body: bool
    ) -> Shape | bool:
        item = self._unknown(pattern.span, "the type of this option is unknown", is_item=True)
        if not self._is_a(value, types.Option(item), pattern.span):  # type: ignore[arg-type]
            return False
        matched.conditions.append(Call("is_some", (value,), BOOL))
        part = self._shape(inside, Call("unwrap", (value,), self._known(item)), matched, in_body)
        return _case("some", [part])

    def _literal_shape(self, pattern: tree.Expr, value: Expr, matched: Matched) -> Shape | bool:
        wanted = self._top(value.type)
        typed = self._infer(pattern, wanted) if wanted is None else self._check(pattern, wanted)
        if typed is None:
            return False
        if not isinstance(typed, Constant):
            self._not_a_pattern(pattern.span)
            return False
        if not self._is_a(value, typed.type, pattern.span):
            return False
        matched.conditions.append(Binary("==", value, typed, BOOL))
        if isinstance(typed.type, types.Option):
            return Case("some", (Case(typed.value),))
        return Case(typed.value)

    # -- constructors, in patterns and in expressions

    def _constructor_type(self, expr: tree.Construct) -> tree.TypeDefinition | None:
        """The definition that has a constructor, or None after reporting an error."""
        definition = self.known.types.type_of(expr.constructor)
        if definition is None:
            known = self.known.types.constructors
            hint = value_hint(expr.constructor) if expr.is_bare else None
            hint = hint or self.problems.suggest(expr.constructor, known, ("Ok", "Err"))
            item = self.known.types.find(expr.constructor)
            if hint is None and isinstance(item, tree.TypeDefinition):
                hint = f"its constructors are {', '.join(f'`{c.name}`' for c in item.constructors)}"
            if hint is None and expr.is_bare:
                lower = expr.constructor[0].lower() + expr.constructor[1:]
                hint = f"variables start with a lowercase letter: `{lower}`"
            message = f"unknown constructor `{expr.constructor}`"
            self.problems.report("E118", expr.name_span, message, hint=hint)
            return None
        return None if definition.name in self.known.types.broken else definition

    def _opened(self, definition: tree.TypeDefinition, wanted: Type | None, span: Span) -> Named:
        """The type of a constructor, with the type arguments that are wanted, or unknown ones."""
        found = self._present(wanted)
        if isinstance(found, Named) and found.name == definition.name:
            return found
        args = [
            self._unknown(span, f"the type argument `{p.name}` of `{definition.name}` is unknown here")
            for p in definition.parameters
        ]
        return self.known.types.named(definition, tuple(args))

    def _placed(
        self, expr: tree.Construct, fields: tuple[Field, ...], *, is_pattern: bool
    ) -> list[tree.Expr | None] | None:
        """An argument for each field, None for those left out; or None after reporting an error."""
        name = expr.constructor
        positional = [a for a in expr.args if a.name is None]
        if len(positional) > len(fields):
            message = f"`{name}` has {_count(len(fields))}, but got {len(positional)}"
            self.problems.report("E105", expr.span, message, note=_fields(name, fields))
            return None
        slots: list[tree.Expr | None] = [a.value for a in positional]
        slots += [None] * (len(fields) - len(slots))
        positions = {f.name: i for i, f in enumerate(fields)}
        for argument in expr.args:
            if argument.name is None:
                continue
            place = positions.get(argument.name)
            if place is None:
                hint = self.problems.suggest(argument.name, positions)
                message = f"unknown field `{argument.name}` in `{name}`"
                self.problems.report("E119", argument.span, message, note=_fields(name, fields), hint=hint)
                return None
            if slots[place] is not None:
                self.problems.report("E120", argument.span, f"the field `{argument.name}` is given twice")
                return None
            slots[place] = argument.value
        return slots if self._is_complete(expr, fields, slots, is_pattern) else None

    def _is_complete(
        self, expr: tree.Construct, fields: tuple[Field, ...], slots: list[tree.Expr | None], is_pattern: bool
    ) -> bool:
        if expr.is_open and not is_pattern:
            self.problems.report("E211", expr.span, "`..` leaves out fields, which only a pattern can do")
            return False
        left_out = [f"`{f.name}`" for f, slot in zip(fields, slots, strict=True) if slot is None]
        is_named = any(a.name is not None for a in expr.args)
        if not left_out or (is_pattern and (expr.is_open or is_named)):
            return True
        hint = f"write `{expr.constructor}{{..}}` to leave out fields" if is_pattern else None
        message = f"`{expr.constructor}` is missing a value for {', '.join(left_out)}"
        note = _fields(expr.constructor, fields)
        self.problems.report("E120", expr.span, message, note=note, hint=hint)
        return False

    # -- patterns that always match

    def _expect_certain(self, pattern: tree.Expr, shape: Shape, type_: Type) -> bool:
        """Whether a pattern matches all values of a type; if not, that is reported."""
        known = self._known(type_)
        if as_unknown(known) is not None:
            return True
        try:
            others = missing([shape], known, self.known.types)
        except TooComplex:
            others = ["_"]
        if others:
            self.problems.report(
                "E210",
                pattern.span,
                "this pattern does not match all values",
                note=f"it does not match {', '.join(f'`{x}`' for x in others)}",
                hint="use `match`",
            )
        return not others


def _case(head: object, parts: list[Shape | bool]) -> Shape | bool:
    sound = [part for part in parts if not isinstance(part, bool)]
    return Case(head, tuple(sound)) if len(sound) == len(parts) else False


def _fields(name: str, fields: tuple[Field, ...]) -> str:
    return f"it is `{name}{{{', '.join(f'{f.name}: {f.type}' for f in fields)}}}`"


def _count(number: int) -> str:
    return "no fields" if not number else "1 field" if number == 1 else f"{number} fields"
