"""A client of the language server: a real process, and the protocol as it is on the wire."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import tidelog

Json = Any
SOURCES = Path(tidelog.__file__).parents[1]


class Client:
    """`found` are the diagnostics of each document that arrived last."""

    def __init__(self, folder: Path, *arguments: str, encodings: tuple[str, ...] = ("utf-16",)) -> None:
        self.folder = folder
        self.found: dict[str, list[Json]] = {}
        self._number = 0
        self._arrived: Queue[Json] = Queue()
        self._versions: dict[str, int] = {}
        command = [sys.executable, "-m", "tidelog", "lsp", *arguments]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
        )
        Thread(target=self._read, daemon=True).start()
        given = {"general": {"positionEncodings": list(encodings)}}
        folders = [{"uri": folder.as_uri(), "name": "work"}]
        self.capabilities = self.ask(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": given, "workspaceFolders": folders},
        )["capabilities"]
        self.tell("initialized", {})

    # -- messages

    def tell(self, method: str, params: Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Json) -> Json:
        """The result; AssertionError with its message if it is an error."""
        answer = self.answer(method, params)
        assert "error" not in answer, answer["error"]["message"]
        return answer["result"]

    def answer(self, method: str, params: Json) -> Json:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                return message

    def _send(self, message: Json) -> None:
        body = json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _read(self) -> None:
        """Put all messages of the server into the queue; None when it has ended."""
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline():
            length = int(line.partition(b":")[2])
            while stream.readline().strip():
                pass
            self._arrived.put(json.loads(stream.read(length)))
        self._arrived.put(None)

    def _receive(self) -> Json:
        message = self._arrived.get(timeout=120)
        assert message is not None, "the server has ended"
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            if params.get("version") == self._versions.get(params["uri"]):
                self.found[params["uri"]] = params["diagnostics"]
        return message

    # -- documents

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> None:
        """Open a file, with a text that may not be saved."""
        given = (self.folder / name).read_text() if text is None else text
        uri = name if ":" in name else self.uri(name)
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": "tidelog", "version": 1, "text": given}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def edit(self, name: str, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        uri = self.uri(name)
        self._versions[uri] += 1
        self.found.pop(uri, None)
        where = {"start": position(*start), "end": position(*end)}
        document = {"uri": uri, "version": self._versions[uri]}
        changes = [{"range": where, "text": text}]
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def problems(self, name: str) -> list[Json]:
        """The diagnostics of a document in its present version, when they have arrived."""
        uri = name if ":" in name else self.uri(name)
        while uri not in self.found:
            self._receive()
        return self.found[uri]

    def at(self, method: str, name: str, line: int, character: int, **more: Json) -> Json:
        """The answer to a request about a position, from 0."""
        params = {"textDocument": {"uri": self.uri(name)}, "position": position(line, character), **more}
        return self.ask(f"textDocument/{method}", params)

    def stop(self) -> int:
        """End the server as editors do; its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self._process.wait(timeout=120)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def position(line: int, character: int) -> Json:
    return {"line": line, "character": character}


def applied(text: str, edits: list[Json]) -> str:
    """A text after edits by positions in UTF-16, all of them in the text before."""
    lines = [*text.splitlines(keepends=True), ""]
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]

    def offset(place: Json) -> int:
        line = lines[place["line"]].encode("utf-16-le")
        column = len(line[: 2 * int(place["character"])].decode("utf-16-le"))
        start: int = starts[place["line"]]
        return start + column

    ordered = sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True)
    for edit in ordered:
        start, end = (offset(edit["range"][side]) for side in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text
