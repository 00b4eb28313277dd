"""Run as a program by `test_session`: starts a session, and tells in one line of JSON what is then true.

Its arguments are the session's settings (JSON) and what to do at the end: `stop` it, `leave` it to the end
of Python, or `wait` to be killed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.session import local_session

LISTENING = "0A"


def main(conf: dict[str, str], ending: str) -> None:
    session = local_session(conf=conf)
    jvm: Any = session._jvm
    report = {
        "answers": answers(session),
        "processes": sorted(descendants(os.getpid())),
        "java": jvm.java.lang.System.getProperty("java.home"),
        "addresses": sorted(listening(descendants(os.getpid()))),
        "environment": [name for name in os.environ if name.startswith("PYSPARK_GATEWAY")],
        "log": Path(session.conf.get("spark.tidelog.log") or "").read_text(),
    }
    print(json.dumps(report), flush=True)
    if ending == "wait":
        time.sleep(600)
    if ending == "stop":
        session.stop()
    # Py4J tells Java of each in the background; Java's end must not come in between.
    dropped = [jvm.java.util.ArrayList() for _ in range(2000)]
    dropped.clear()


def answers(session: SparkSession) -> list[int]:
    """A shuffle, and an Arrow function in Python workers."""
    sums = session.range(100).selectExpr("id % 3 as k", "id").groupBy("k").sum("id")
    rows = session.range(10).mapInArrow(lambda batches: batches, "id long").collect()
    return [*sorted(row[1] for row in sums.collect()), sum(row[0] for row in rows)]


def descendants(process: int) -> set[int]:
    found: set[int] = set()
    for task in entries(Path(f"/proc/{process}/task")):
        try:
            children = [int(child) for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):  # ended since it was listed
            continue
        for child in children:
            found |= {child} | descendants(child)
    return found


def entries(directory: Path) -> list[Path]:
    """A directory of /proc, which is gone when its process is."""
    try:
        return list(directory.iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


def listening(processes: set[int]) -> Iterator[str]:
    """The addresses on which the processes accept TCP connections."""
    inodes = {link for process in processes for link in sockets(process)}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in inodes:
                yield address(fields[1].partition(":")[0])


def sockets(process: int) -> Iterator[str]:
    for descriptor in entries(Path(f"/proc/{process}/fd")):
        try:
            yield str(descriptor.readlink())
        except (FileNotFoundError, ProcessLookupError):  # closed since it was listed
            continue


def address(hexadecimal: str) -> str:
    """The kernel writes addresses as 32-bit words in the machine's byte order."""
    words = [bytes.fromhex(hexadecimal[i : i + 8]) for i in range(0, len(hexadecimal), 8)]
    parsed = ip_address(b"".join(word[::-1] if sys.byteorder == "little" else word for word in words))
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return str(mapped or parsed)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
