"""Run as a program by `test_driver_memory`: runs of a pipeline on a cluster, in a driver with little memory.

    python driver_probe.py FOLDER CONF

For each line of its input it runs the pipeline in the folder, and prints what came of it as a line of JSON,
with the most memory that this process had so far, in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from tidelog import pipeline
from tidelog.engine.spark.runtime.session import local_session


def main(folder: Path, conf: dict[str, str]) -> None:
    spark = local_session(conf=conf)
    spark.sparkContext.setCheckpointDir((folder / "checkpoints").as_uri())
    for _ in sys.stdin:
        outcome = pipeline.run(folder / "pipeline.toml", spark=spark)
        counts = {name: [count.inserted, count.deleted] for name, count in outcome.changes.items()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"changes": counts, "peak": peak}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
