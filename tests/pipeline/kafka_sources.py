"""Run pipelines from topics of Kafka, and print what each run found.

python kafka_sources.py FOLDER JARS SERVERS
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tidelog import pipeline

PROGRAM = """input relation Price(item: string, cents: option<int>)
output relation Cheap(item: string, cents: option<int>)
Cheap(i, c) :- Price(i, c).
input relation Line(text: string)
output relation Said(text: string)
Said(t) :- Line(t).
"""


def main(folder: Path, jars: str, servers: str) -> None:
    warnings.simplefilter("ignore")
    from tidelog.engine.spark.runtime.session import local_session

    spark = local_session(conf={"spark.jars": jars})
    (folder / "p.dl").write_text(PROGRAM)

    def send(topic: str, *messages: tuple[str, Any]) -> None:
        rows = [
            (key, value if value is None or isinstance(value, str) else json.dumps(value))
            for key, value in messages
        ]
        frame = spark.createDataFrame(rows, "key string, value string")
        frame.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()

    def source(topic: str, **more: object) -> dict[str, Any]:
        return {
            "format": "kafka",
            "options": {"kafka.bootstrap.servers": servers, "subscribe": topic},
            **more,
        }

    events = {"envelope": "debezium", "key": "item", "sequence": {"ts_ms": "int", "kafka.offset": "int"}}
    sources = {"Price": source("prices", **events), "Line": source("lines", columns={"text": "value"})}
    tables = {"program": "p.dl", "store": "store", "sources": sources}
    spec = pipeline.spec_from(tables, folder=folder)

    def event(op: str, at: int, item: str, cents: int | None = None) -> tuple[str, Any]:
        row = {"item": item, "cents": cents}
        lost, gained = (row, None) if op == "d" else (None, row)
        return item, {"payload": {"op": op, "before": lost, "after": gained, "ts_ms": at}}

    def run(what: str) -> None:
        outcome = pipeline.run(spec, spark=spark)
        session = pipeline.stored_session(spec)
        found = [sorted(session[name], key=repr) for name in ("Cheap", "Said")]
        print(json.dumps([what, outcome.is_new, *found]), flush=True)

    send("prices", event("c", 1, "tea", 1), event("c", 2, "salt", 2), ("tea", None))
    send("lines", ("", "a"), ("", "b"))
    run("first")
    run("nothing")
    send("prices", event("u", 4, "tea", 5), event("d", 5, "salt"))
    send("lines", ("", "b"), ("", "c"))
    run("changes")
    send("prices", event("u", 3, "tea", 4), event("u", 4, "salt", 9), event("c", 6, "rice", None))
    run("late")
    admin = spark._jvm.java.util.Properties()  # type: ignore[union-attr]
    admin.setProperty("bootstrap.servers", servers)
    client = spark._jvm.org.apache.kafka.clients.admin.Admin.create(admin)  # type: ignore[union-attr]
    more = spark._jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(4)  # type: ignore[union-attr]
    client.createPartitions({"lines": more}).all().get()
    client.close()
    send("lines", *((str(n), f"line {n}") for n in range(9)))
    run("partitions")
    run("nothing")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3])
