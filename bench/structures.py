"""Structured values: `python -m bench.structures [--quick]`.

- A closure of a random graph whose nodes are structs of two fields, beside the same with numbers.
- A rule that makes a million different structs, and reading their fields again.
- Small structs, whose values are packed into their codes: making a million, and the largest of them.
- Unnesting a column of lists into rows, beside DuckDB's `unnest` (with `distinct`, since relations are sets).
- Loading nested JSON lines, beside Polars.

What is compared takes turns; the best of each counts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import polars
import pyarrow as pa

import tidelog

__all__ = ["closures", "documents", "main", "nested_json", "small", "terms", "unnested"]

_REPEAT: Final = 3

_CLOSURE: Final = """
typedef Key = Key{{a: int, b: int}}
input relation Edge(src: {type}, dst: {type})
output relation Reach(src: {type}, dst: {type})
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z), x != z.
"""

_TERMS: Final = """
typedef Key = Key{a: int, b: int}
input relation Pair(a: int, b: int)
output relation Made(k: Key)
Made(Key{a, b}) :- Pair(a, b).
"""

_FIELDS: Final = """
output relation Sum(n: int)
Sum(n) :- Made(Key{a, b}), var n = (a + b).group_by().sum().
"""

_SMALL: Final = """
typedef Key = Key{a: u32, b: u16}
input relation Pair(a: u32, b: u16)
output relation Made(k: Key)
Made(Key{a, b}) :- Pair(a, b).
"""

_LARGEST: Final = """
output relation Largest(k: Key)
Largest(m) :- Made(k), var m = k.group_by().max().
"""

_UNNEST: Final = """
input relation Document(id: int, items: vec<int>)
output relation Item(id: int, item: int)
Item(i, x) :- Document(i, v), var x in v.
"""

_NESTED: Final = """
typedef Address = Address{city: string, zip: int}
input relation Person(id: int, name: string, address: Address, tags: vec<string>)
"""


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _committed(db: tidelog.Session, facts: dict[str, Any]) -> float:
    """The seconds of a commit whose facts are staged."""
    tx = db.transaction()
    for relation, table in facts.items():
        tx.insert(relation, table)
    return _seconds(tx.commit)


def closures(nodes: int, edges: int) -> tuple[float, float]:
    """The seconds of closures over numbers and over structs."""
    rng = np.random.default_rng(0)
    ends = [rng.integers(0, nodes, edges) for _ in range(2)]
    numbers = pa.table({"src": ends[0], "dst": ends[1]})
    keys = [pa.StructArray.from_arrays([pa.array(e // 100), pa.array(e % 100)], ["a", "b"]) for e in ends]
    structs = pa.table({"src": keys[0], "dst": keys[1]})
    plain, structured = (tidelog.open(text=_CLOSURE.format(type=t)) for t in ("int", "Key"))
    times = _committed(plain, {"Edge": numbers}), _committed(structured, {"Edge": structs})
    assert len(plain["Reach"]) == len(structured["Reach"])
    return times


def terms(rows: int) -> tuple[float, float, float]:
    """The seconds to copy pairs of numbers, to make structs of them, and to read the fields again."""
    rng = np.random.default_rng(0)
    pairs = pa.table({"a": np.arange(rows), "b": rng.integers(0, 1000, rows)})
    copied = tidelog.open(
        text="input relation Pair(a: int, b: int)\noutput relation Q(a: int, b: int)\nQ(a, b) :- Pair(a, b)."
    )
    copying = _committed(copied, {"Pair": pairs})
    db = tidelog.open(text=_TERMS)
    making = _committed(db, {"Pair": pairs})
    assert len(db["Made"]) == rows
    tx = db.transaction()
    tx.load(_FIELDS)
    return copying, making, _seconds(tx.commit)


def small(rows: int) -> tuple[float, float]:
    """The seconds to make small structs, and to find the largest."""
    rng = np.random.default_rng(0)
    first = pa.array(np.arange(rows), pa.uint32())
    second = pa.array(rng.integers(0, 1000, rows), pa.uint16())
    db = tidelog.open(text=_SMALL)
    making = _committed(db, {"Pair": pa.table({"a": first, "b": second})})
    tx = db.transaction()
    tx.load(_LARGEST)
    finding = _seconds(tx.commit)
    assert len(db["Made"]) == rows
    assert len(db["Largest"]) == 1
    return making, finding


def documents(rows: int, items: int) -> Any:
    rng = np.random.default_rng(0)
    values = pa.array(rng.integers(0, 1_000_000, rows * items))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, rows * items + 1, items, dtype=np.int32)), values)
    return pa.table({"id": np.arange(rows), "items": lists})


def unnested(table: Any) -> tuple[float, float, float]:
    """The seconds to unnest lists: ours, DuckDB's, and DuckDB's without duplicates."""
    db = tidelog.open(text=_UNNEST)
    ours = _committed(db, {"Document": table})
    other = duckdb.connect()
    other.execute("set threads to 2")
    other.register("given", table)
    other.execute("create table document as from given")
    unnest = "select {} id, item from (select id, unnest(items) as item from document)"
    plain = _seconds(lambda: other.execute(f"create table one as {unnest.format('')}").fetchall())
    distinct = _seconds(lambda: other.execute(f"create table two as {unnest.format('distinct')}").fetchall())
    found = other.execute("select count(*) from two").fetchone()
    assert found == (len(db["Item"]),)
    return ours, plain, distinct


def nested_json(path: Path) -> tuple[float, float]:
    """The seconds to load nested JSON lines: ours with the commit, and Polars'."""
    db = tidelog.open(text=_NESTED)

    def load() -> None:
        with db.transaction() as tx:
            tx.insert_folder(path.parent)

    ours = _seconds(load)
    frames: list[Any] = []
    theirs = _seconds(lambda: frames.append(polars.read_ndjson(path)))
    assert len(frames[0]) == len(db["Person"])
    return ours, theirs


def _write_people(path: Path, rows: int) -> None:
    with path.open("w") as file:
        for i in range(rows):
            address = {"city": f"city {i % 1000}", "zip": i % 90_000}
            tags = [f"tag {j}" for j in range(i % 5)]
            person = {"id": i, "name": f"person {i}", "address": address, "tags": tags}
            file.write(json.dumps(person) + "\n")


def _best(work: Callable[[], tuple[float, ...]]) -> list[float]:
    turns = [work() for _ in range(_REPEAT)]
    return [min(times) for times in zip(*turns, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.structures")
    parser.add_argument("--quick", action="store_true")
    share = 100 if parser.parse_args().quick else 1
    numbers, structs = _best(lambda: closures(2_000, max(2_600 // share, 500)))
    print(
        f"closure:     {structs:.3f} s with structs, {structs / numbers:.2f} times numbers ({numbers:.3f} s)"
    )
    rows = 1_000_000 // share
    copied, made, read = _best(lambda: terms(rows))
    print(f"structs:     {rows:,} made in {made:.3f} s (fields copied: {copied:.3f} s), read in {read:.3f} s")
    made, largest = _best(lambda: small(rows))
    print(f"small ones:  {rows:,} made in {made:.3f} s, the largest found in {largest:.3f} s")
    table = documents(1_000_000 // share, 10)
    ours, plain, distinct = _best(lambda: unnested(table))
    print(
        f"unnested:    {10 * len(table):,} items in {ours:.2f} s, {ours / plain:.2f} times DuckDB "
        f"({plain:.2f} s), {ours / distinct:.2f} times without duplicates ({distinct:.2f} s)"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Person.jsonl"
        _write_people(path, 500_000 // share)
        ours, theirs = _best(lambda: nested_json(path))
    print(f"JSON lines:  {ours:.2f} s, {ours / theirs:.2f} times Polars ({theirs:.2f} s)")


if __name__ == "__main__":
    main()
