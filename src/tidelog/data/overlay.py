"""A mapping that shares most of its items with another one, so that a copy costs what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Final, TypeVar

__all__ = ["Overlay", "copied"]

K = TypeVar("K")
V = TypeVar("V")

_LITTLE: Final = 64  # differences that are not worth a copy of everything
_SHARE: Final = 8  # a copy is made if more than an eighth differs
_MISSING: Final = object()


def copied(original: Mapping[K, V]) -> MutableMapping[K, V]:
    """A copy of a mapping, which must not change any more."""
    return Overlay(original) if original else {}


class Overlay(MutableMapping[K, V]):
    """A copy of a mapping, in the order that a copied `dict` would have."""

    __slots__ = ("_base", "_gone", "_new", "_own")

    def __init__(self, original: Mapping[K, V]) -> None:
        if isinstance(original, Overlay):
            base, own, gone = original._base, original._own, original._gone
            if len(own) + len(gone) > max(_LITTLE, len(base) // _SHARE):
                base, own, gone = dict(original.items()), {}, set()
            self._base: Mapping[K, V] = base
            self._own: dict[K, V] = dict(own)  # items that the base does not have, or not so
            self._gone: set[K] = set(gone)  # keys of the base that were deleted
            self._new: int = original._new if own or gone else 0  # how many keys follow those of the base
        else:
            self._base, self._own, self._gone, self._new = original, {}, set(), 0

    def __getitem__(self, key: K) -> V:
        found = self._own.get(key, _MISSING)
        if found is not _MISSING:
            return found  # type: ignore[return-value]
        if key in self._gone:
            raise KeyError(key)
        return self._base[key]

    def __contains__(self, key: object) -> bool:
        return key in self._own or (key in self._base and key not in self._gone)

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self._own and not self._is_kept(key):
            self._new += 1
        self._own[key] = value

    def __delitem__(self, key: K) -> None:
        is_kept = self._is_kept(key)
        if key not in self._own and not is_kept:
            raise KeyError(key)
        if is_kept:
            self._gone.add(key)
        else:
            self._new -= 1
        self._own.pop(key, None)

    def _is_kept(self, key: object) -> bool:
        """Whether a key has the place that it has in the base."""
        return key in self._base and key not in self._gone

    def __iter__(self) -> Iterator[K]:
        for key in self._base:
            if key not in self._gone:
                yield key
        if self._new:
            for key in self._own:
                if not self._is_kept(key):
                    yield key

    def __len__(self) -> int:
        return len(self._base) - len(self._gone) + self._new

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (list(self.items()),)
