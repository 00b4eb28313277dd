"""The Python values of structured types: an immutable class per constructor, and immutable maps.

`struct_class` makes the class of a constructor. Its instances equal each other if they have the same
constructor of the same type and equal fields; type arguments don't matter, since values of different types
are never compared. Instances are picklable without the program: a pickle describes its class.

Values can be nested deeper than Python's stack (a list of 10,000 cells is a value of a recursive type). So a
hash is computed when a value is built, from the hashes of its parts; equality and `repr` use no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, TypeVar

from tidelog.data.scalars import NAN
from tidelog.data.types import Named

__all__ = ["FrozenMap", "Struct", "described_class", "freeze", "struct_class"]

S = TypeVar("S", bound="Struct")


class Struct:
    """A value of a struct or union. The subclasses made by `struct_class` have its fields as attributes."""

    __slots__ = ("_hash", "_values")

    _type: ClassVar[str] = ""
    _identity: ClassVar[str] = ""
    _tag: ClassVar[str] = ""
    _fields: ClassVar[tuple[str, ...]] = ()

    _values: tuple[Any, ...]
    _hash: int | None

    def __init__(self, *args: object, **named: object) -> None:
        self._set(tuple(map(freeze, self._arranged(args, named))))

    @classmethod
    def _make(cls: type[S], values: tuple[Any, ...]) -> S:
        """An instance with these canonical values of its fields."""
        made = cls.__new__(cls)
        made._set(values)
        return made

    def _set(self, values: tuple[Any, ...]) -> None:
        self._values = values
        try:
            self._hash = hash((type(self), values))
        except TypeError:  # something that is not a value; whoever takes it will say so
            self._hash = None

    def _arranged(self, args: tuple[object, ...], named: dict[str, object]) -> list[object]:
        names = self._fields
        extra = sorted(set(named).difference(names[len(args) :]))
        missing = [n for n in names[len(args) :] if n not in named]
        if len(args) > len(names) or extra:
            listed = ", ".join(names) or "no fields"
            given = f"got {len(args)} values" if not extra else f"got {', '.join(extra)} as well"
            raise TypeError(f"{self._tag} has {listed}; {given}")
        if missing:
            raise TypeError(f"{self._tag}: missing {', '.join(missing)}")
        return [*args, *(named[n] for n in names[len(args) :])]

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self._values, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        return self._hash == other._hash and _equal(self, other)

    def __hash__(self) -> int:
        if self._hash is None:
            return hash(self._values)  # raises: it names the class that cannot be hashed
        return self._hash

    def __repr__(self) -> str:
        return _repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._type, self._identity, self._tag, self._fields, self._values)

    def __copy__(self: S) -> S:
        return self

    def __deepcopy__(self: S, memo: object) -> S:
        return self


def _equal(left: object, right: object) -> bool:
    waiting = [(left, right)]
    while waiting:
        a, b = waiting.pop()
        if a is b:
            continue
        if isinstance(a, Struct) and isinstance(b, Struct):
            if type(a) is not type(b):
                return False
            waiting += zip(a._values, b._values, strict=True)
        elif type(a) is tuple and type(b) is tuple and len(a) == len(b):
            waiting += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


class _Piece(str):
    """A part of a `repr` that is already text."""

    __slots__ = ()


def _repr(value: Struct) -> str:
    written: list[str] = []
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _Piece):
            written.append(part)
        elif isinstance(part, Struct):
            named = zip(part._fields, part._values, strict=True)
            waiting += reversed(_pieces(f"{part._tag}(", [(f"{n}=", v) for n, v in named], ")"))
        elif type(part) is tuple:
            waiting += reversed(_pieces("(", [("", v) for v in part], ",)" if len(part) == 1 else ")"))
        else:
            written.append(repr(part))
    return "".join(written)


def _pieces(opening: str, items: list[tuple[str, object]], closing: str) -> list[object]:
    pieces: list[object] = [_Piece(opening)]
    for i, (label, item) in enumerate(items):
        pieces += [_Piece(f"{', ' if i else ''}{label}"), item]
    return [*pieces, _Piece(closing)]


class FrozenMap(Mapping[Any, Any]):
    """An immutable map. It equals every equal mapping; a canonical one iterates in the order of its keys."""

    __slots__ = ("_entries", "_hash")

    def __init__(self, entries: Mapping[Any, Any] | None = None) -> None:
        self._entries: dict[Any, Any] = dict(entries or {})
        self._hash: int | None = None

    def __getitem__(self, key: object) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMap):
            return self._entries == other._entries
        return self._entries == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._entries.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"FrozenMap({self._entries!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt_map, (self._entries,)


def freeze(value: object) -> Any:
    """Lists, sets and dicts as immutable values, and every NaN as the one object that stands for it."""
    if isinstance(value, float):
        return NAN if value != value else value
    if isinstance(value, list) or type(value) is tuple:
        return tuple(map(freeze, value))
    if isinstance(value, set | frozenset):
        return frozenset(map(freeze, value))
    if isinstance(value, dict):
        return _rebuilt_map(value)
    return value


def _rebuilt_map(entries: dict[Any, Any]) -> FrozenMap:
    return FrozenMap({freeze(k): freeze(v) for k, v in entries.items()})


# -- classes

_CLASSES: Final[dict[tuple[str, str, str, tuple[str, ...]], type[Struct]]] = {}


def struct_class(type_: Named, constructor: str) -> type[Struct]:
    """The class of the values with this constructor."""
    fields = tuple(f.name for f in type_.constructor(constructor).fields)
    return described_class(type_.name, type_.identity, constructor, fields)


def described_class(name: str, identity: str, tag: str, fields: tuple[str, ...]) -> type[Struct]:
    """The class of a constructor, by the name and identity of its type and the names of its fields."""
    key = (name, identity, tag, fields)
    found = _CLASSES.get(key)
    if found is None:
        found = _CLASSES.setdefault(key, _new_class(*key))
    return found


def _new_class(name: str, identity: str, tag: str, fields: tuple[str, ...]) -> type[Struct]:
    members: dict[str, Any] = {f: _reader(i) for i, f in enumerate(fields) if not hasattr(Struct, f)}
    members |= {"_type": name, "_identity": identity, "_tag": tag, "_fields": fields}
    members |= {"__slots__": (), "__match_args__": fields, "__module__": "tidelog.types"}
    members |= {"__qualname__": f"{name}.{tag}", "__doc__": f"{tag}({', '.join(fields)}), of type {name}."}
    return type(tag, (Struct,), members)


def _reader(place: int) -> property:
    return property(lambda self: self._values[place])


def _rebuilt(name: str, identity: str, tag: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Struct:
    return described_class(name, identity, tag, fields)._make(tuple(map(freeze, values)))
