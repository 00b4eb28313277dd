"""Workers in which a task may be slow before or after it writes its state, while the mark `slow` is there.

Speculation starts such a task again, so that several attempts write, and either may be the one that Spark
accepts. A mark is left for each state that is written.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import TaskContext
from pyspark.daemon import manager

from tidelog.engine.local.storage.record import Record
from tidelog.engine.spark.partitions.scratch import Scratch
from tidelog.engine.spark.runtime.daemon import warm_up

PAUSES = (0.0, 0.0, 0.0, 0.8, 1.6)  # seconds


def slowed(write: Callable[[Scratch, Record], str]) -> Callable[[Scratch, Record], str]:
    @wraps(write)
    def written(scratch: Scratch, record: Record) -> str:
        marks, dice = Path(os.environ["TIDELOG_MARKS"]), random.SystemRandom()
        is_slow = (marks / "slow").exists()
        time.sleep(dice.choice(PAUSES) if is_slow else 0)
        name = write(scratch, record)
        context = TaskContext.get()
        if context is not None:
            task = f"{context.stageId()}-{context.partitionId()}"
            (marks / f"wrote.{task}.{uuid4().hex}").touch()
        time.sleep(dice.choice(PAUSES) if is_slow else 0)
        return name

    return written


if __name__ == "__main__":
    warm_up()
    wrapped: Any = slowed(Scratch.write)
    Scratch.write = wrapped  # type: ignore[method-assign]
    manager()
