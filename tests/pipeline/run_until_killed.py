"""Run a pipeline day after day, from a given one on, until somebody ends this process.

    python run_until_killed.py FOLDER DAY [LAST]

Prints a line before each run, so that a test knows how far it is.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from pipeline.days import write
from sparks import BRIEF
from tidelog import pipeline
from tidelog.engine.spark.runtime.session import local_session
from tidelog.pipeline.merged import layout
from tidelog.store import states


def main(folder: Path, day: int, last: int) -> None:
    warnings.simplefilter("ignore")
    layout.MAX_SHARE = 4.0  # type: ignore[misc]  # so that the base of a small output is not always written again
    if (folder / "placement").read_text() != "driver":
        states.MAX_SHARE = 0.0  # type: ignore[attr-defined]  # a state with each commit
    spark = local_session(conf={"spark.driver.extraJavaOptions": BRIEF})
    while day <= last:
        write(folder, day)
        print(day, flush=True)
        pipeline.run(folder / "pipeline.toml", spark=spark)
        day += 1
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 10**9)
