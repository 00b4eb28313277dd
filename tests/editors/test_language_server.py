"""The language server as an editor sees it: a process that is asked over the protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from editors.client import Client, applied

PACKETS = """module net::packets

// What travels.
typedef Payload = IPv4{src: int, dst: int} | Other

input relation Packet(id: int, payload: Payload)
output relation Target(dst: int)

function is_local(address: int): bool { address < 1000 }

Target(d) :- Packet(_, IPv4{.dst = d}), not is_local(d).
"""
MAIN = """import net::packets as p

input relation Port(dst: int, port: int)
// Where a packet goes.
output relation Route(dst: int, port: int)

Route(d, n) :- p::Target(d), Port(d, n), not p::is_local(d).
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("work")
    (folder / "net").mkdir()
    (folder / "net" / "packets.dl").write_text(PACKETS)
    (folder / "main.dl").write_text(MAIN)
    client = Client(folder)
    yield client
    try:
        assert client.stop() == 0
    finally:
        client.kill()


def place(text: str, piece: str, nth: int = 0) -> tuple[int, int]:
    """The line and column of a piece of a text."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(piece, offset + 1)
    before = text[:offset]
    return before.count("\n"), offset - (before.rfind("\n") + 1)


def ranges(found: list[Any]) -> set[tuple[str, int, int]]:
    return {
        (Path(f["uri"]).name, f["range"]["start"]["line"], f["range"]["start"]["character"]) for f in found
    }


def test_diagnostics_follow_the_edits_of_a_text(client: Client) -> None:
    client.open("main.dl")
    assert client.problems("main.dl") == []
    line, column = place(MAIN, "Port(d, n)")
    client.edit("main.dl", (line, column), (line, column), "X")
    problem = client.problems("main.dl")[0]
    assert problem["code"] == "E101"
    assert problem["severity"] == 1
    assert "XPort" in problem["message"]
    assert (problem["range"]["start"]["line"], problem["range"]["start"]["character"]) == place(
        MAIN, "Port(d, n)"
    )
    client.edit("main.dl", (line, column), (line, column + 1), "")
    assert client.problems("main.dl") == []


def test_a_module_that_is_not_saved_is_what_others_import(client: Client) -> None:
    client.open("main.dl")
    assert client.problems("main.dl") == []
    client.found.clear()
    client.open("net/packets.dl", PACKETS.replace("Target", "Destination"))
    problem = client.problems("main.dl")[0]
    assert "Target" in problem["message"]
    client.found.clear()
    client.tell("textDocument/didClose", {"textDocument": {"uri": client.uri("net/packets.dl")}})
    while client.problems("main.dl"):
        client.found.clear()


def test_an_error_in_a_module_is_shown_at_its_import(client: Client) -> None:
    client.open("main.dl")
    client.found.clear()
    client.open("net/packets.dl", PACKETS.replace("address < 1000", "address <"))
    problem = next(p for p in client.problems("main.dl") if p["message"].startswith("error in a module: "))
    assert problem["range"]["start"] == {"line": 0, "character": 7}
    related = problem["relatedInformation"][0]["location"]
    assert related["uri"] == client.uri("net/packets.dl")
    client.tell("textDocument/didClose", {"textDocument": {"uri": client.uri("net/packets.dl")}})


def test_hovering_shows_declarations_comments_and_types(client: Client) -> None:
    client.open("main.dl")
    client.found.clear()
    client.open("main.dl")
    client.problems("main.dl")

    def shown(piece: str, nth: int = 0) -> str:
        found = client.at("hover", "main.dl", *place(MAIN, piece, nth))
        return str(found["contents"]["value"])

    assert "output relation Route(dst: int, port: int)" in shown("Route")
    assert "Where a packet goes." in shown("Route")
    assert "function is_local(address: int): bool" in shown("p::is_local")
    assert "n: int" in shown("n) :-")
    assert "module" in shown("net::packets")
    assert client.at("hover", "main.dl", *place(MAIN, ":-")) is None


def test_definitions_and_references_cross_files(client: Client) -> None:
    client.open("main.dl")
    found = client.at("definition", "main.dl", *place(MAIN, "p::Target"))
    assert ranges(found) == {("packets.dl", *place(PACKETS, "Target"))}
    found = client.at("definition", "main.dl", *place(MAIN, "net::packets"))
    assert ranges(found) == {("packets.dl", 0, 0)}
    context = {"includeDeclaration": True}
    found = client.at("references", "main.dl", *place(MAIN, "p::Target"), context=context)
    assert ranges(found) == {
        ("packets.dl", *place(PACKETS, "Target")),
        ("packets.dl", *place(PACKETS, "Target", 1)),
        ("main.dl", *place(MAIN, "p::Target")),
    }
    found = client.at("documentHighlight", "main.dl", *place(MAIN, "d, n) :-"))
    assert len(found) == 4


def test_renaming_changes_all_files_and_nothing_else(client: Client) -> None:
    client.open("main.dl")
    edit = client.at("rename", "main.dl", *place(MAIN, "p::Target"), newName="Destination")
    changes = edit["changes"]
    assert applied(MAIN, changes[client.uri("main.dl")]) == MAIN.replace("Target", "Destination")
    packets = applied(PACKETS, changes[client.uri("net/packets.dl")])
    assert packets == PACKETS.replace("Target", "Destination")
    found = client.at("prepareRename", "main.dl", *place(MAIN, "n) :-"))
    assert found["start"]["character"] == place(MAIN, "n) :-")[1]


@pytest.mark.parametrize(
    ("piece", "new", "why"),
    [
        ("Route", "Port", "already used"),
        ("Route", "route", "capitalised"),
        ("Route", "a b", "not a name"),
        ("d, n) :-", "n", "already used"),
        ("d, n) :-", "not", "word of the language"),
        ("net::packets", "other", "rename the file"),
        (":-", "x", "not a name that can be changed"),
    ],
)
def test_renaming_that_would_change_the_meaning_is_refused(
    client: Client, piece: str, new: str, why: str
) -> None:
    client.open("main.dl")
    line, column = place(MAIN, piece)
    params = {"textDocument": {"uri": client.uri("main.dl")}, "position": {"line": line, "character": column}}
    answer = client.answer("textDocument/rename", {**params, "newName": new})
    assert why in answer["error"]["message"]


def test_formatting_is_one_edit_and_leaves_texts_with_errors_alone(client: Client) -> None:
    text = "input   relation A(x:int)\noutput relation B(x: int)\nB(x):-A(x).\n"
    client.open("loose.dl", text)
    options = {"options": {"tabSize": 4, "insertSpaces": True}}
    document = {"textDocument": {"uri": client.uri("loose.dl")}}
    edits = client.ask("textDocument/formatting", {**document, **options})
    assert len(edits) == 1
    assert "B(x) :- A(x)." in applied(text, edits)
    client.open("loose.dl", "B(x :- A(x).")
    assert client.ask("textDocument/formatting", {**document, **options}) == []


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("\nRoute(d, 1) :- p::Ta", "p::Target"),
        ("\nRoute(d, 1) :- Po", "Port"),
        ("\nRoute(d, 1) :- Port(.po", "port"),
        ("\nRoute(distance, 1) :- Port(dis", "distance"),
        ("\nRoute(d, 1) :- Port(d, x), starts", "starts_with"),
        ("\nout", "output"),
    ],
)
def test_words_are_completed_while_the_text_has_errors(client: Client, typed: str, expected: str) -> None:
    text = MAIN + typed
    client.open("typed.dl", text)
    line = text.count("\n")
    found = client.at("completion", "typed.dl", line, len(text) - text.rfind("\n") - 1)
    edits = [item["textEdit"] for item in found["items"] if item["label"] == expected]
    assert len(edits) == 1
    assert applied(text, edits).endswith(expected)


def test_symbols_are_the_outline_of_a_text(client: Client) -> None:
    client.open("net/packets.dl")
    params = {"textDocument": {"uri": client.uri("net/packets.dl")}}
    found = client.ask("textDocument/documentSymbol", params)
    assert [s["name"] for s in found] == ["Payload", "IPv4", "Other", "Packet", "Target", "is_local"]
    client.tell("textDocument/didClose", params)


def test_a_text_that_was_never_saved_is_checked(client: Client) -> None:
    client.open(
        "untitled:Untitled-1", "import net::packets\noutput relation B(x: int)\nB(x) :- packets::Target(x).\n"
    )
    assert client.problems("untitled:Untitled-1") == []
    client.open("untitled:Untitled-2", "B(x) :- A(x).")
    assert {p["code"] for p in client.problems("untitled:Untitled-2")} == {"E101"}


def test_columns_are_counted_as_the_client_asks(client: Client) -> None:
    assert client.capabilities["positionEncoding"] == "utf-16"
    text = 'output relation B(x: string)\r\nB("𝄞é"), C(x).'
    client.open("wide.dl", text)
    problem = next(p for p in client.problems("wide.dl") if "C" in p["message"])
    assert problem["range"]["start"] == {"line": 1, "character": 10}
    client.edit("wide.dl", (1, 10), (1, 11), "B")
    client.edit("wide.dl", (1, 12), (1, 13), '"y"')
    assert client.problems("wide.dl") == []


def test_strange_requests_do_no_harm(client: Client) -> None:
    assert client.at("hover", "unknown.dl", 0, 0) is None
    client.open("main.dl")
    assert client.at("hover", "main.dl", 10_000, 10_000) is None
    assert client.at("definition", "main.dl", 6, 10_000) == []
    client.open("odd.dl", '\ufeff\x00 `` "${ /* \ud7ff \u2028 :- .\r\r\n(((')
    assert client.problems("odd.dl")
    assert client.at("completion", "odd.dl", 0, 3)["items"] is not None
    answer = client.answer("textDocument/nothing", {})
    assert answer["error"]["code"] == -32601


def test_without_pygls_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from tidelog.cli import main

    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "tidelog.editors.server.service", raising=False)
    done = CliRunner().invoke(main, ["lsp"])
    assert done.exit_code == 1
    assert "pip install 'tidelog[lsp]'" in done.stderr
