"""The commonest mistakes, each with the message that it gets: `golden/mistakes`.

A section of a file has a mistake and its message. Programs are opened, calls are run with a session `db`, and
commands are run in a folder of files. Every message says what is wrong and, where there is one, the remedy.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from click.testing import CliRunner

import tidelog
from tidelog.cli import main

GOLDEN = Path(__file__).parents[1] / "golden" / "mistakes"
SECTION = re.compile(r"^## (.+?)\n\n```\n(.*?)\n```\n\n```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
PROGRAM = """input relation Edge(src: string, dst: string)
input relation Price(item: string, cents: int) primary key (item)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
"""
FILES = {
    "reach.dl": PROGRAM.replace("input relation Price(item: string, cents: int) primary key (item)\n", ""),
    "price.dl": "input relation Price(item: string, n: int)\nrelation All(n: int)\nAll(n) :- Price(_, n).",
    "good/Edge.csv": "src,dst\na,b\n",
    "no_header/Edge.csv": "a,b\nb,c\n",
    "misspelled/Edge.csv": "src,dest\na,b\n",
    "semicolons/Edge.csv": "src;dst\na;b\n",
    "short/Edge.csv": "src,dst\na\n",
    "small_letters/edge.csv": "src,dst\na,b\n",
    "words/Price.csv": "item,n\ntea,300\nmilk,much\n",
    "nothing/README.md": "no facts",
}


class Mistake(NamedTuple):
    title: str
    made: str
    message: str


def read(name: str) -> list[Mistake]:
    text = (GOLDEN / name).read_text(encoding="utf-8")
    return [Mistake(*parts) for parts in SECTION.findall(text)]


def named(mistakes: list[Mistake]) -> list[object]:
    return [pytest.param(m, id=m.title) for m in mistakes]


def message_of_program(text: str) -> str:
    with pytest.raises(tidelog.TidelogError) as caught:
        tidelog.open(text=text, name="program.dl", max_iterations=1000)
    return str(caught.value)


def message_of_call(code: str) -> str:
    db = tidelog.open(text=PROGRAM)
    names = {"db": db, "tidelog": tidelog, "pd": pd}
    with pytest.raises((tidelog.TidelogError, AttributeError)) as caught:
        exec(compile(code, "<call>", "exec"), names)
    return f"{caught.type.__name__}: {caught.value}"


def message_of_command(command: str) -> str:
    done = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="tidelog")
    assert done.exit_code in (1, 2)
    return done.output.strip()


@pytest.mark.parametrize("mistake", named(read("programs.md")))
def test_a_mistake_in_a_program_gets_its_message(mistake: Mistake) -> None:
    assert message_of_program(mistake.made) == mistake.message


@pytest.mark.parametrize("mistake", named(read("calls.md")))
def test_a_mistake_in_a_call_gets_its_message(mistake: Mistake) -> None:
    assert message_of_call(mistake.made) == mistake.message


@pytest.mark.parametrize("mistake", named(read("commands.md")))
def test_a_mistake_in_a_command_or_a_file_gets_its_message(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert message_of_command(mistake.made) == mistake.message


def put(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)


def test_every_section_is_read() -> None:
    files = sorted(path.name for path in GOLDEN.glob("*.md"))
    assert files == ["calls.md", "commands.md", "programs.md"]
    for name in files:
        text = (GOLDEN / name).read_text(encoding="utf-8")
        assert len(read(name)) == text.count("\n## ")
    assert sum(len(read(name)) for name in files) >= 25
