"""Whatever is in a file, the command line says what is wrong with it in few words and exits with 0 to 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.texts import CORPUS, raw, texts
from sizes import size
from tally import tally
from tidelog.cli import main
from tidelog.errors import LONGEST, MOST, WIDTH

LONGEST_REPORT = MOST * (4 * LONGEST + 3 * WIDTH)
SHOWN = ("tree", "program", "strata", "plan", "indexes", "script")
COMMANDS = (("check",), ("check", "--strict"), ("fmt",), *(("show", what) for what in SHOWN))

few = settings(
    max_examples=size(40, 3_000),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)


def run(*args: str, stdin: bytes = b"") -> Result:
    result = CliRunner().invoke(main, args, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2)
    assert len(result.stderr) < LONGEST_REPORT
    return result


@few
@given(raw(), st.sampled_from(COMMANDS))
def test_any_bytes_are_a_program_or_are_refused_in_few_words(
    content: bytes, command: tuple[str, ...]
) -> None:
    tally("fuzzed bytes given to commands")
    result = run(*command, "-", stdin=content)
    if command == ("fmt",) and result.exit_code == 0:
        assert run("fmt", "-", stdin=result.stdout.encode()).stdout == result.stdout


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_every_command_takes_what_once_went_wrong(file: Path) -> None:
    for command in COMMANDS:
        run(*command, "-", stdin=file.read_bytes())


@settings(few, max_examples=size(4, 200))
@given(texts(), st.binary(max_size=60))
def test_a_program_runs_over_any_facts_or_is_refused_in_few_words(
    tmp_path: Path, text: str, facts: bytes
) -> None:
    program = tmp_path / "program.dl"
    program.write_bytes(text.encode(errors="replace"))
    for name in ("Edge", "E", "A", "Number", "Person"):
        (tmp_path / f"{name}.csv").write_bytes(facts)
    limits = ("--timeout", "20", "--max-rows", "2000", "--max-memory", "1GB")
    run("run", str(program), "-F", str(tmp_path), "--allow-missing", *limits)
