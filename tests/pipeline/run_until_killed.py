"""Run a pipeline day after day, from a given one on, until somebody ends this process.

    python run_until_killed.py FOLDER DAY LAST KIND PLACEMENT CONF

LAST is -1 for no end, CONF has Spark's settings in JSON. Prints a line before each run, so that a test knows
how far it is.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from pipeline.days import Kind, write
from sparks import BRIEF
from tidelog import pipeline
from tidelog.engine.spark.runtime.session import local_session
from tidelog.pipeline.merged import layout
from tidelog.store import states


def main(folder: Path, day: int, last: int, kind: Kind, placement: str, conf: dict[str, str]) -> None:
    warnings.simplefilter("ignore")
    layout.MAX_SHARE = 4.0  # type: ignore[misc]  # so that the base of a small output is not always written again
    if placement:
        states.MAX_SHARE = 0.0  # type: ignore[attr-defined]  # a state with each commit
    spark = local_session(conf={"spark.driver.extraJavaOptions": BRIEF, **conf})
    spec = folder / "pipeline.toml"
    while last < 0 or day <= last:
        write(folder, day, kind, placement)
        print(day, flush=True)
        if kind == "stream":
            pipeline.stream(spec, spark=spark, once=True)
        else:
            pipeline.run(spec, spark=spark)
        day += 1
    spark.stop()


def arguments() -> tuple[Any, ...]:
    folder, day, last, kind, placement, conf = sys.argv[1:]
    return Path(folder), int(day), int(last), kind, placement, json.loads(conf)


if __name__ == "__main__":
    main(*arguments())
