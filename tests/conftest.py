"""Before any test, kernels are compiled and Hypothesis gets its profile. Finally, what was tried is counted.

Hypothesis measures no time, since a machine with other work to do must not fail a test.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sizes import size
from tally import TALLY

settings.register_profile(
    "tidelog",
    deadline=None,
    max_examples=size(25, 400),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tidelog")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels of a fresh checkout, so that no test sees the line that says so."""
    if not hasattr(session.config, "workerinput"):
        import_module("tidelog.engine.local.native.library").load()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["tally"] = dict(TALLY)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    TALLY.update(getattr(node, "workeroutput", {}).get("tally", {}))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if TALLY:
        terminalreporter.write_sep("-", "tried")
        for what, number in sorted(TALLY.items()):
            terminalreporter.write_line(f"{number:>12,} {what}")
