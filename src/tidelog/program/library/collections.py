"""The standard functions on vecs, sets, maps and results as data: signature, meaning, examples, by group.

Overloads of a name may take the same number of arguments; then the types of the arguments choose among them,
also among those of `functions`. Type variables range over all types; the result `option<T>` rules out that
`T` is an option.
"""

from __future__ import annotations

from typing import Final

from tidelog.program.library.signatures import Kind, StandardFunction, function

__all__ = ["COLLECTIONS", "MAX_ITEMS"]

MAX_ITEMS: Final = 2**24  # items of a computed collection, unless an argument has more


def _row(
    signature: str, doc: str, examples: dict[str, str | None], kind: Kind = Kind.EVERY
) -> StandardFunction:
    return function(signature, doc, examples, kind)


_VECS = (
    _row(
        "len(v: vec<T>) -> int",
        "The number of items.",
        {"len([1, 2, 2])": "3", "len(range(0, 0))": "0"},
    ),
    _row(
        "get(v: vec<T>, index: int) -> option<T>",
        "The item at a position, from 0; `none` if there is no such position.",
        {"get([7, 8], 1)": "some(8)", "get([7, 8], 2)": "none", "get([7, 8], -1)": "none"},
    ),
    _row(
        "first(v: vec<T>) -> option<T>",
        "The first item; `none` if there is none.",
        {"first([7, 8])": "some(7)", "first(range(0, 0))": "none"},
    ),
    _row(
        "last(v: vec<T>) -> option<T>",
        "The last item; `none` if there is none.",
        {"last([7, 8])": "some(8)", "last(range(0, 0))": "none"},
    ),
    _row(
        "contains(v: vec<T>, x: T) -> bool",
        "Whether an item equals `x`; `none` equals itself here.",
        {"contains([1, 2], 2)": "true", "contains([1, 2], 3)": "false"},
    ),
    _row(
        "push(v: vec<T>, x: T) -> vec<T>",
        "The items of `v`, then `x`.",
        {"push([1, 2], 1)": "[1, 2, 1]", 'push(split("a", ","), "b")': '["a", "b"]'},
    ),
    _row(
        "append(v: vec<T>, w: vec<T>) -> vec<T>",
        "The items of `v`, then those of `w`.",
        {"append([1, 2], [2, 3])": "[1, 2, 2, 3]", "append(range(0, 0), [1])": "[1]"},
    ),
    _row(
        "slice(v: vec<T>, start: int, count: int) -> vec<T>",
        "Up to `count` items from position `start`. Fails if either is negative.",
        {
            "slice([1, 2, 3], 1, 1)": "[2]",
            "slice([1, 2, 3], 1, 9)": "[2, 3]",
            "slice([1, 2, 3], 3, 1)": "[]",
            "slice([1, 2, 3], -1, 1)": None,
        },
    ),
    _row(
        "reverse(v: vec<T>) -> vec<T>",
        "The items in reverse order.",
        {"reverse([1, 2, 3])": "[3, 2, 1]", "reverse(range(0, 0))": "[]"},
    ),
    _row(
        "sort(v: vec<T>) -> vec<T>",
        "The items in their order; `none` comes first.",
        {"sort([3, 1, 2, 1])": "[1, 1, 2, 3]", 'sort(["b", "B"])': '["B", "b"]'},
    ),
    _row(
        "range(start: int, end: int) -> vec<int>",
        "The numbers from `start` to before `end`. Fails if there are more than 16,777,216.",
        {"range(1, 4)": "[1, 2, 3]", "range(4, 1)": "[]", "range(0, 100000000)": None},
    ),
    _row(
        "zip(v: vec<A>, w: vec<B>) -> vec<(A, B)>",
        "Pairs of the items at equal positions; it is as long as the shorter one.",
        {'zip([1, 2], ["a", "b"])': '[(1, "a"), (2, "b")]', 'zip([1, 2], ["a"])': '[(1, "a")]'},
    ),
    _row(
        "enumerate(v: vec<T>) -> vec<(int, T)>",
        "Each item with its position, from 0.",
        {'enumerate(["a", "b"])': '[(0, "a"), (1, "b")]', "len(enumerate(range(0, 0)))": "0"},
    ),
    _row(
        "sum_of(v: vec<T>) -> T",
        "The exact sum, in the type of the items, rounded once; 0 without items. Fails if it does not fit.",
        {
            "sum_of([1, 2, 3])": "6",
            "sum_of(range(0, 0))": "0",
            "sum_of([0.1, 0.2, 0.3])": "0.6",
            "sum_of([9223372036854775807, 1])": None,
        },
        Kind.NUMBER,
    ),
    _row(
        "min_of(v: vec<T>) -> option<T>",
        "The smallest item; `none` if there is none.",
        {"min_of([2, 1, 3])": "some(1)", "min_of(range(0, 0))": "none"},
    ),
    _row(
        "max_of(v: vec<T>) -> option<T>",
        "The largest item; `none` if there is none.",
        {"max_of([2, 1, 3])": "some(3)", "max_of(range(0, 0))": "none"},
    ),
)

_CLOSURES = (
    _row(
        "map(v: vec<T>, f: |T|: U) -> vec<U>",
        "`f` of each item.",
        {"map([1, 2], |x| x * 10)": "[10, 20]", 'map([1, 2], |x| "${x}")': '["1", "2"]'},
    ),
    _row(
        "filter(v: vec<T>, f: |T|: bool) -> vec<T>",
        "The items for which `f` is true.",
        {"filter([1, 2, 3], |x| x != 2)": "[1, 3]", "filter([1], |x| x > 1)": "[]"},
    ),
    _row(
        "fold(v: vec<T>, start: U, f: |U, T|: U) -> U",
        "`f(… f(f(start, first), second) …, last)`; `start` without items.",
        {"fold([1, 2, 3], 0, |a, x| a * 10 + x)": "123", 'fold(range(0, 0), "a", |a, x| "${a}${x}")': '"a"'},
    ),
    _row(
        "any(v: vec<T>, f: |T|: bool) -> bool",
        "Whether `f` is true for an item. Items after the first such one are not tried.",
        {
            "any([1, 2], |x| x > 1)": "true",
            "any(range(0, 0), |x| x > 1)": "false",
            "any([1, 0], |x| 1 / x == 1)": "true",
        },
    ),
    _row(
        "all(v: vec<T>, f: |T|: bool) -> bool",
        "Whether `f` is true for every item. Items after the first other one are not tried.",
        {
            "all([1, 2], |x| x > 1)": "false",
            "all(range(0, 0), |x| x > 1)": "true",
            "all([2, 0], |x| 1 / x == 1)": "false",
        },
    ),
)

_SETS = (
    _row(
        "len(s: set<T>) -> int",
        "The number of elements.",
        {"len(to_set([1, 2, 2]))": "2", "len(to_set(range(0, 0)))": "0"},
    ),
    _row(
        "contains(s: set<T>, x: T) -> bool",
        "Whether `x` is an element; `none` equals itself here.",
        {"contains(to_set([1, 2]), 2)": "true", "contains(to_set([1, 2]), 3)": "false"},
    ),
    _row(
        "insert(s: set<T>, x: T) -> set<T>",
        "`s` with the element `x`.",
        {"insert(to_set([1]), 2)": "to_set([1, 2])", "insert(to_set([1]), 1)": "to_set([1])"},
    ),
    _row(
        "remove(s: set<T>, x: T) -> set<T>",
        "`s` without the element `x`.",
        {"remove(to_set([1, 2]), 2)": "to_set([1])", "remove(to_set([1]), 3)": "to_set([1])"},
    ),
    _row(
        "union(s: set<T>, t: set<T>) -> set<T>",
        "The elements of either.",
        {
            "union(to_set([1, 2]), to_set([2, 3]))": "to_set([1, 2, 3])",
            "union(to_set(range(0, 0)), to_set([1]))": "to_set([1])",
        },
    ),
    _row(
        "intersect(s: set<T>, t: set<T>) -> set<T>",
        "The elements of both.",
        {
            "intersect(to_set([1, 2]), to_set([2, 3]))": "to_set([2])",
            "len(intersect(to_set([1]), to_set([2])))": "0",
        },
    ),
    _row(
        "difference(s: set<T>, t: set<T>) -> set<T>",
        "The elements of `s` that are not in `t`.",
        {
            "difference(to_set([1, 2]), to_set([2, 3]))": "to_set([1])",
            "len(difference(to_set([1]), to_set([1])))": "0",
        },
    ),
    _row(
        "is_subset(s: set<T>, t: set<T>) -> bool",
        "Whether every element of `s` is in `t`.",
        {"is_subset(to_set([1]), to_set([1, 2]))": "true", "is_subset(to_set([3]), to_set([1]))": "false"},
    ),
    _row(
        "to_vec(s: set<T>) -> vec<T>",
        "The elements in their order.",
        {"to_vec(to_set([2, 1, 2]))": "[1, 2]", 'to_vec(to_set(["b", "B"]))': '["B", "b"]'},
    ),
    _row(
        "to_set(v: vec<T>) -> set<T>",
        "The distinct items.",
        {"len(to_set([2, 1, 2]))": "2", "to_vec(to_set([2, 1, 2]))": "[1, 2]"},
    ),
)

_MAPS = (
    _row(
        "len(m: map<K, V>) -> int",
        "The number of keys.",
        {'len(["a" -> 1, "b" -> 1])': "2", "len(to_map([(1, 2), (1, 2)]))": "1"},
    ),
    _row(
        "get(m: map<K, V>, key: K) -> option<V>",
        "The value of a key; `none` if there is no such key.",
        {'get(["a" -> 1], "a")': "some(1)", 'get(["a" -> 1], "b")': "none"},
    ),
    _row(
        "contains_key(m: map<K, V>, key: K) -> bool",
        "Whether there is such a key.",
        {'contains_key(["a" -> 1], "a")': "true", 'contains_key(["a" -> 1], "b")': "false"},
    ),
    _row(
        "insert(m: map<K, V>, key: K, value: V) -> map<K, V>",
        "`m` with this value for the key, instead of the one it had.",
        {'insert(["a" -> 1], "a", 2)': '["a" -> 2]', 'insert(["a" -> 1], "b", 2)': '["a" -> 1, "b" -> 2]'},
    ),
    _row(
        "remove(m: map<K, V>, key: K) -> map<K, V>",
        "`m` without this key.",
        {'remove(["a" -> 1, "b" -> 2], "b")': '["a" -> 1]', 'remove(["a" -> 1], "b")': '["a" -> 1]'},
    ),
    _row(
        "keys(m: map<K, V>) -> vec<K>",
        "The keys in their order.",
        {"keys([2 -> 1, 1 -> 3])": "[1, 2]", 'keys(["b" -> 1])': '["b"]'},
    ),
    _row(
        "values(m: map<K, V>) -> vec<V>",
        "The values, in the order of their keys.",
        {"values([2 -> 1, 1 -> 3])": "[3, 1]", "values([1 -> 7, 2 -> 7])": "[7, 7]"},
    ),
    _row(
        "entries(m: map<K, V>) -> vec<(K, V)>",
        "The keys with their values, in the order of the keys.",
        {"entries([2 -> 1, 1 -> 3])": "[(1, 3), (2, 1)]", 'entries(["a" -> 1])': '[("a", 1)]'},
    ),
    _row(
        "to_map(v: vec<(K, V)>) -> map<K, V>",
        "The pairs as keys and values. Fails if a key has two different values.",
        {
            "to_map([(1, 2), (3, 4)])": "[1 -> 2, 3 -> 4]",
            "to_map([(1, 2), (1, 2)])": "[1 -> 2]",
            "to_map([(1, 2), (1, 3)])": None,
        },
    ),
)

_PARTS_OF_STRINGS = (
    _row(
        "split(s: string, separator: string) -> vec<string>",
        "The parts of `s` between separators. Fails if `separator` is empty.",
        {'split("a,b,,c", ",")': '["a", "b", "", "c"]', 'split("", ",")': '[""]', 'split("a", "")': None},
    ),
    _row(
        "join(parts: vec<string>, separator: string) -> string",
        "The parts with separators between them. Fails if the result exceeds 16,777,216 code points.",
        {'join(["a", "b"], ", ")': '"a, b"', 'join(slice(["a"], 0, 0), ",")': '""'},
    ),
    _row(
        "to_chars(s: string) -> vec<string>",
        "The code points of `s`, each as a string.",
        {'to_chars("naï")': '["n", "a", "ï"]', 'to_chars("")': "[]"},
    ),
)

_RESULTS = (
    _row(
        "is_ok(r: result<T, E>) -> bool",
        "Whether `r` is `Ok{…}`.",
        {'is_ok(if (1 > 0) Ok{1} else Err{"no"})': "true", 'is_ok(if (1 < 0) Ok{1} else Err{"no"})': "false"},
    ),
    _row(
        "is_err(r: result<T, E>) -> bool",
        "Whether `r` is `Err{…}`.",
        {
            'is_err(if (1 > 0) Ok{1} else Err{"no"})': "false",
            'is_err(if (1 < 0) Ok{1} else Err{"no"})': "true",
        },
    ),
    _row(
        "ok(r: result<T, E>) -> option<T>",
        "The value of `Ok{…}`; `none` for `Err{…}`.",
        {'ok(if (1 > 0) Ok{1} else Err{"no"})': "some(1)", 'ok(if (1 < 0) Ok{1} else Err{"no"})': "none"},
    ),
    _row(
        "unwrap(r: result<T, E>) -> T",
        "The value of `Ok{…}`. Fails for `Err{…}`.",
        {'unwrap(if (1 > 0) Ok{1} else Err{"no"})': "1", 'unwrap(if (1 < 0) Ok{1} else Err{"no"})': None},
    ),
)

COLLECTIONS: Final[dict[str, tuple[StandardFunction, ...]]] = {
    "Vecs": _VECS,
    "Functions that take closures": _CLOSURES,
    "Sets": _SETS,
    "Maps": _MAPS,
    "Parts of strings": _PARTS_OF_STRINGS,
    "Results": _RESULTS,
}
