"""Z-sets are a commutative group; maps and filters are linear; distinct makes a set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.data.zset import ZSet

zsets = st.dictionaries(st.integers(0, 5), st.integers(-3, 3)).map(ZSet)
ZERO: ZSet[int] = ZSet()


@given(zsets, zsets, zsets)
def test_addition_is_associative_and_commutative(a: ZSet[int], b: ZSet[int], c: ZSet[int]) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(zsets)
def test_the_empty_one_is_zero_and_each_has_a_negative(a: ZSet[int]) -> None:
    assert a + ZERO == a
    assert a - a == ZERO
    assert ZERO - (ZERO - a) == a
    assert ZERO - a == -a
    assert a * 3 == a + a + a
    assert a * 0 == ZERO


@given(zsets, zsets)
def test_map_and_filter_are_linear(a: ZSet[int], b: ZSet[int]) -> None:
    assert (a + b).map(lambda e: e % 2) == a.map(lambda e: e % 2) + b.map(lambda e: e % 2)
    assert (a + b).filter(lambda e: e > 2) == a.filter(lambda e: e > 2) + b.filter(lambda e: e > 2)


@given(zsets)
def test_no_element_has_weight_zero_and_equal_ones_hash_alike(a: ZSet[int]) -> None:
    assert all(w for _, w in a.items())
    assert len(a) == len(list(a))
    assert hash(a) == hash(ZSet(list(a.items())))
    assert a[99] == 0


@given(zsets)
def test_distinct_keeps_what_is_positive_once(a: ZSet[int]) -> None:
    assert a.distinct().is_set
    assert set(a.distinct()) == {e for e, w in a.items() if w > 0}
    assert a.distinct().distinct() == a.distinct()


def test_a_set_counts_each_element_once() -> None:
    assert ZSet.of([1, 1, 2]) == ZSet({1: 1, 2: 1})
    assert ZSet([(1, 2), (1, -2)]) == ZERO
