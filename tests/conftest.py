"""Before any test: compiled loops of an earlier version are dropped, and Hypothesis gets its profile.

Hypothesis measures no time, since a machine with other work to do must not fail a test.

Numba looks at the file that a compiled function is in, not at those of the functions that it calls, so what
it kept may be of a mixture of versions after a checkout.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import tidelog

settings.register_profile("tidelog", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tidelog")

KERNELS = Path(tidelog.__file__).parent / "engine" / "local"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # once, before the processes that share the work begin
        _drop_old_kernels()


def _drop_old_kernels() -> None:
    digest = hashlib.sha256()
    for file in sorted(KERNELS.glob("*.py")):
        digest.update(file.read_bytes())
    kept = KERNELS / "__pycache__"
    stamp = kept / "kernels.sha256"
    if not os.access(KERNELS, os.W_OK) or (stamp.exists() and stamp.read_text() == digest.hexdigest()):
        return
    for file in (*kept.glob("*.nbi"), *kept.glob("*.nbc")):
        file.unlink(missing_ok=True)
    kept.mkdir(exist_ok=True)
    stamp.write_text(digest.hexdigest())
