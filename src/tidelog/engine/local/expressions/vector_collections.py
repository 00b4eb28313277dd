"""The standard functions on collections and results that have a form on whole vectors.

They gather codes from pools and terms, and intern rows of codes, so no value becomes an object of Python.
Rows that fail, and rows whose result has the code of `none` without being it, are left to the plain form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import NONE, Codec, Codes
from tidelog.engine.local.codes.pools import Pool, flat_places, lengths_to_starts
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.expressions.operations import Fast
from tidelog.engine.local.expressions.vectors import Mask, Vector
from tidelog.program.library.catalog import MAX_ITEMS

__all__ = ["fast_form"]

_Found: TypeAlias = tuple[Vector, Mask | None]


class _Call(NamedTuple):
    """The types of a call, and the codec."""

    arguments: tuple[Type, ...]
    result: Type
    codec: Codec

    @property
    def pool(self) -> Pool:
        """The pool of the first argument."""
        return self.codec.pool(self.arguments[0])

    @property
    def made(self) -> Pool:
        """The pool of the result."""
        return self.codec.pool(self.result)


def fast_form(name: str, arguments: tuple[Type, ...], result: Type, codec: Codec) -> Fast | None:
    build = _FAST.get((name, type(arguments[0])))
    return None if build is None else build(_Call(arguments, result, codec))


def _expanded(*vectors: Vector) -> list[Codes]:
    """The codes of vectors, all of the same length."""
    size = max(map(len, vectors))
    return [np.broadcast_to(v.codes, size) for v in vectors]


def _sequences(pool: Pool, codes: Codes) -> tuple[Codes, Codes, Codes]:
    """The items of collections, where those of each begin, and how many there are."""
    rows = pool.items(codes)
    assert rows.starts is not None
    return rows.content, rows.starts[:-1], np.diff(rows.starts)


# -- items


def _length(call: _Call) -> Fast:
    return lambda v: (Vector(call.pool.lengths(v.codes)), None)


def _optional(found: Codes, there: Mask) -> _Found:
    """Values of an option; the smallest 64-bit number is left to the plain form."""
    return Vector(np.where(there, found, NONE)), there & (found == NONE)


def _item(call: _Call, codes: Codes, places: Codes) -> _Found:
    """The items of vecs at these places."""
    items, starts, lengths = _sequences(call.pool, codes)
    there = (places >= 0) & (places < lengths)
    found = np.full(len(codes), NONE)
    found[there] = items[starts[there] + places[there]]
    return _optional(found, there)


def _get(call: _Call) -> Fast:
    def fast(v: Vector, index: Vector) -> _Found:
        codes, places = _expanded(v, index)
        return _item(call, codes, places)

    return fast


def _first(call: _Call) -> Fast:
    return lambda v: _item(call, v.codes, np.zeros(len(v), np.int64))


def _last(call: _Call) -> Fast:
    return lambda v: _item(call, v.codes, call.pool.lengths(v.codes) - 1)


def _contains(call: _Call) -> Fast:
    """Whether an item, or a key, has the code of a value."""

    def fast(collection: Vector, x: Vector) -> _Found:
        codes, wanted = _expanded(collection, x)
        return Vector((_place_of(call.pool, codes, wanted) >= 0).astype(np.int64)), None

    return fast


def _place_of(pool: Pool, codes: Codes, wanted: Codes) -> Codes:
    """The place of an item or key among the items of all collections; -1 if a collection does not have it."""
    rows = pool.items(codes)
    items, lengths = rows.content[:: pool.step], pool.lengths(codes)
    owners = np.repeat(np.arange(len(codes)), lengths)
    places = np.full(len(codes), -1)
    hits = np.flatnonzero(items == wanted[owners])
    places[owners[hits]] = hits
    return places


def _look_up(call: _Call) -> Fast:
    """The value of a key."""

    def fast(m: Vector, key: Vector) -> _Found:
        codes, wanted = _expanded(m, key)
        places = _place_of(call.pool, codes, wanted)
        there = places >= 0
        found = np.full(len(codes), NONE)
        found[there] = call.pool.items(codes).content[1::2][places[there]]
        return _optional(found, there)

    return fast


# -- collections


def _append(call: _Call) -> Fast:
    def fast(v: Vector, w: Vector) -> _Found:
        left, right = _expanded(v, w)
        return _joined(call, _sequences(call.pool, left), _sequences(call.pool, right))

    return fast


def _push(call: _Call) -> Fast:
    def fast(v: Vector, x: Vector) -> _Found:
        codes, items = _expanded(v, x)
        single = np.ascontiguousarray(items), np.arange(len(items)), np.ones(len(items), np.int64)
        return _joined(call, _sequences(call.pool, codes), single)

    return fast


def _joined(call: _Call, left: tuple[Codes, ...], right: tuple[Codes, ...]) -> _Found:
    """Vecs of the items on the left, followed by those on the right."""
    (items, starts, lengths), (more, more_starts, more_lengths) = left, right
    too_long = lengths + more_lengths > MAX_ITEMS
    lengths, more_lengths = np.where(too_long, 0, lengths), np.where(too_long, 0, more_lengths)
    made = lengths_to_starts(lengths + more_lengths)
    content = np.empty(int(made[-1]), np.int64)
    content[flat_places(made[:-1], lengths)] = items[flat_places(starts, lengths)]
    content[flat_places(made[:-1] + lengths, more_lengths)] = more[flat_places(more_starts, more_lengths)]
    return Vector(call.made.from_items(Rows(content, made))), too_long


def _slice(call: _Call) -> Fast:
    def fast(v: Vector, start: Vector, count: Vector) -> _Found:
        codes, first, most = _expanded(v, start, count)
        bad = (first < 0) | (most < 0)
        items, starts, lengths = _sequences(call.pool, codes)
        first = np.minimum(np.where(bad, 0, first), lengths)
        kept = np.minimum(np.where(bad, 0, most), lengths - first)
        content = items[flat_places(starts + first, kept)]
        return Vector(call.made.from_items(Rows(content, lengths_to_starts(kept)))), bad

    return fast


def _reverse(call: _Call) -> Fast:
    def fast(v: Vector) -> _Found:
        items, starts, lengths = _sequences(call.pool, v.codes)
        places = flat_places(starts, lengths)
        turned = np.repeat(2 * starts + lengths - 1, lengths) - places
        return Vector(call.made.from_items(Rows(items[turned], lengths_to_starts(lengths)))), None

    return fast


def _range(call: _Call) -> Fast:
    def fast(start: Vector, end: Vector) -> _Found:
        first, last = _expanded(start, end)
        with np.errstate(over="ignore"):
            span = last - first
        wrapped = (last > first) & (span < 0)
        bad = wrapped | (span > MAX_ITEMS)
        lengths = np.where(bad, 0, np.maximum(np.where(last > first, span, 0), 0))
        content = flat_places(first, lengths)
        return Vector(call.made.from_items(Rows(content, lengths_to_starts(lengths)))), bad

    return fast


def _same_items(call: _Call) -> Fast:
    """The items of a collection in another one, which orders them if it must."""
    return lambda c: (Vector(call.made.from_items(call.pool.items(c.codes))), None)


def _zip(call: _Call) -> Fast:
    other = call.arguments[1]

    def fast(v: Vector, w: Vector) -> _Found:
        left, right = _expanded(v, w)
        (items, starts, lengths), (more, more_starts, more_lengths) = (
            _sequences(call.codec.pool(t), c)
            for t, c in zip((call.arguments[0], other), (left, right), strict=True)
        )
        kept = np.minimum(lengths, more_lengths)
        return _pairs(call, items[flat_places(starts, kept)], more[flat_places(more_starts, kept)], kept)

    return fast


def _enumerate(call: _Call) -> Fast:
    def fast(v: Vector) -> _Found:
        items, starts, lengths = _sequences(call.pool, v.codes)
        return _pairs(call, flat_places(np.zeros(len(starts), np.int64), lengths), items, lengths)

    return fast


def _pairs(call: _Call, left: Codes, right: Codes, lengths: Codes) -> _Found:
    """Vecs of pairs."""
    assert isinstance(call.result, types.Vec)
    pairs = call.codec.terms(call.result.item).make("", [left, right], len(left))
    return Vector(call.made.from_items(Rows(pairs, lengths_to_starts(lengths)))), None


def _column(place: int) -> Callable[[_Call], Fast]:
    """The keys (0) or the values (1) of a map."""

    def build(call: _Call) -> Fast:
        def fast(m: Vector) -> _Found:
            content = np.ascontiguousarray(call.pool.items(m.codes).content[place::2])
            starts = lengths_to_starts(call.pool.lengths(m.codes))
            return Vector(call.made.from_items(Rows(content, starts))), None

        return fast

    return build


def _entries(call: _Call) -> Fast:
    def fast(m: Vector) -> _Found:
        content = call.pool.items(m.codes).content
        return _pairs(call, content[::2], content[1::2], call.pool.lengths(m.codes))

    return fast


# -- results


def _has(constructor: str) -> Callable[[_Call], Fast]:
    def build(call: _Call) -> Fast:
        terms = call.codec.terms(call.arguments[0])
        number = terms.number(constructor)
        return lambda r: (Vector((terms.tag(r.codes) == number).astype(np.int64)), None)

    return build


def _ok(call: _Call) -> Fast:
    terms = call.codec.terms(call.arguments[0])
    number = terms.number("Ok")
    return lambda r: _optional(terms.field(number, r.codes, 0), terms.tag(r.codes) == number)


def _unwrap(call: _Call) -> Fast:
    terms = call.codec.terms(call.arguments[0])
    number = terms.number("Ok")
    return lambda r: (Vector(terms.field(number, r.codes, 0)), terms.tag(r.codes) != number)


_FAST: Final[Mapping[tuple[str, Any], Callable[[_Call], Fast]]] = {
    ("len", types.Vec): _length,
    ("len", types.Set): _length,
    ("len", types.Map): _length,
    ("get", types.Vec): _get,
    ("first", types.Vec): _first,
    ("last", types.Vec): _last,
    ("contains", types.Vec): _contains,
    ("contains", types.Set): _contains,
    ("contains_key", types.Map): _contains,
    ("get", types.Map): _look_up,
    ("push", types.Vec): _push,
    ("append", types.Vec): _append,
    ("slice", types.Vec): _slice,
    ("reverse", types.Vec): _reverse,
    ("range", types.Int): _range,
    ("zip", types.Vec): _zip,
    ("enumerate", types.Vec): _enumerate,
    ("to_set", types.Vec): _same_items,
    ("to_vec", types.Set): _same_items,
    ("keys", types.Map): _column(0),
    ("values", types.Map): _column(1),
    ("entries", types.Map): _entries,
    ("is_ok", types.Named): _has("Ok"),
    ("is_err", types.Named): _has("Err"),
    ("ok", types.Named): _ok,
    ("unwrap", types.Named): _unwrap,
}
