"""Soufflé and FlowLog get the same programs and facts, and their time, memory and sizes are read."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import pytest
from bench.data import graph
from bench.dialects import translate, write_facts
from bench.executables import EXECUTABLES, is_installed, sizes
from bench.programs import PROGRAMS, Program

from tidelog.bench.isolate import Failed, isolated, peak_memory, reset_peak_memory

CHAIN = graph("chain", "chain", 4)
COUNT = """\
#!/bin/sh
echo "Reach	$(($(wc -l < Edge.facts) * 2))"
"""
COMPILER = """\
#!/bin/sh
echo '#!/bin/sh' > "$3"
echo 'echo "[size][Reach] t=() size=6" >&2' >> "$3"
chmod +x "$3"
"""


def _install(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_programs_are_translated() -> None:
    text = """
    input relation P(a: int, b: string)
    relation Q(a: int)
    Q(x) :- P(x, "not p"), not R(x), x != 3.
    """
    for dialect in ("souffle", "flowlog"):
        lines = [line.strip() for line in translate(Program("p", text, "Q"), dialect).splitlines()]
        assert lines == [
            ".decl P(c_a: number, c_b: symbol)",
            ".input P",
            ".decl Q(c_a: number)",
            ".printsize Q",
            'Q(x) :- P(x, "not p"), !R(x), x != 3.',
        ]


def test_a_dialect_replaces_rules_but_not_declarations() -> None:
    program = PROGRAMS["shortest paths"]
    for dialect, rules in program.dialects.items():
        translated = translate(program, dialect)
        assert rules.strip() in translated
        assert ".input Road" in translated
        assert "group_by" not in translated


def test_only_souffle_is_told_how_to_order_joins() -> None:
    program = PROGRAMS["points-to"]
    assert translate(program, "souffle").startswith('.pragma "RamSIPS" "delta-max-bound"\n')
    assert "pragma" not in translate(program, "flowlog")


def test_input_relations_without_facts_get_an_empty_file(tmp_path: Path) -> None:
    text = "input relation A(x: int)\ninput relation B(x: int)\noutput relation C(x: int)\n"
    tables = {"A": CHAIN.make()["Edge"]}
    write_facts(Program("p", text, "C"), tables, tmp_path)
    assert (tmp_path / "A.facts").read_text() == "0\t1\n1\t2\n2\t3\n"
    assert (tmp_path / "B.facts").read_text() == ""
    assert not (tmp_path / "C.facts").exists()


def test_sizes_are_read_from_both_formats() -> None:
    output = "1.2ms:\tDataflow executed\n[size][Reach] t=() size=12\nSame\t34\nWarning: nothing\n"
    assert sizes(output) == {"Reach": 12, "Same": 34}


def test_an_executable_is_run_on_the_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "souffle", COUNT, monkeypatch)
    found = EXECUTABLES["souffle"](PROGRAMS["closure"], CHAIN, 2)
    assert (found.engine, found.size) == ("souffle", 6)
    assert found.seconds > 0
    assert found.cpu >= 0


def test_a_compiler_makes_the_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "flowlog-compiler", COMPILER, monkeypatch)
    assert is_installed("flowlog")
    assert EXECUTABLES["flowlog"](PROGRAMS["closure"], CHAIN, 1).size == 6


def test_failures_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "souffle", "#!/bin/sh\nexit 3\n", monkeypatch)
    with pytest.raises(Failed, match="code 3"):
        EXECUTABLES["souffle"](PROGRAMS["closure"], CHAIN, 1)
    _install(tmp_path, "souffle", "#!/bin/sh\necho 'Error: no such rule' >&2\nexit 1\n", monkeypatch)
    with pytest.raises(Failed, match="not compiled: Error: no such rule"):
        EXECUTABLES["souffle compiled"](PROGRAMS["closure"], CHAIN, 1)
    _install(tmp_path, "souffle", "#!/bin/sh\necho nothing\n", monkeypatch)
    with pytest.raises(Failed, match="no size of Reach"):
        EXECUTABLES["souffle"](PROGRAMS["closure"], CHAIN, 1)


def test_an_engine_ends_with_its_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "process"
    _install(tmp_path, "souffle", f"#!/bin/sh\necho $$ > {mark}\nexec sleep 600\n", monkeypatch)
    for limit in (5.0, 30.0, 120.0):  # on a slow machine, the engine may not have begun after the first
        with pytest.raises(Failed, match="exceeded"):
            isolated(partial(EXECUTABLES["souffle"], PROGRAMS["closure"], CHAIN, 1), limit)
        if mark.exists():
            break
    process = Path(f"/proc/{mark.read_text().strip()}")
    deadline = time.monotonic() + 5.0
    while process.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not process.exists()


def test_engines_that_are_not_on_the_path_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert not is_installed("souffle compiled")
    assert not is_installed("flowlog")
    assert is_installed("tidelog")


def test_memory_that_is_free_again_does_not_hide_later_growth() -> None:
    ballast = bytearray(200 * 2**20)
    high = peak_memory()
    del ballast
    before = reset_peak_memory()
    if before > high - 150 * 2**20:
        pytest.skip("this kernel cannot reset the peak")
    ballast = bytearray(100 * 2**20)
    assert peak_memory() - before > 80 * 2**20
    del ballast
