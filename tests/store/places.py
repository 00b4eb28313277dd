"""Files of stores for tests: in memory, with faults, and in an object store that the tests start."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO

from tidelog.store.files import Created, Output, Uncertain, identity
from tidelog.store.objects import ObjectFiles

__all__ = ["Died", "Faulty", "MemoryFiles", "bucket"]


class MemoryFiles:
    """The files of a store in a dictionary, as an object store would have them; see `store.files.Files`."""

    folder: None = None
    place = "memory"

    def __init__(self, content: dict[str, bytes] | None = None) -> None:
        self.content: dict[str, bytes] = {} if content is None else content

    def where(self, name: str) -> str:
        return f"memory/{name}"

    def lock(self) -> Callable[[], None]:
        return lambda: None

    def make_folders(self, *folders: str) -> None:
        pass

    def put_if_absent(self, name: str, content: bytes) -> None:
        if name in self.content:
            raise FileExistsError(errno.EEXIST, "the file exists")
        self.content[name] = content

    def put(self, name: str, write: Callable[[Output], object]) -> Created:
        out = BytesIO()
        write(Output(out))
        self.content[name] = out.getvalue()
        return identity(out.getvalue())

    def list(self, folder: str) -> Iterator[str]:
        return iter([name for name in self.content if name.startswith(f"{folder}/")])

    def read(self, name: str) -> bytes:
        if name not in self.content:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return self.content[name]

    def digest(self, name: str) -> Created:
        return identity(self.read(name))

    def delete(self, name: str) -> None:
        self.content.pop(name, None)


class Died(BaseException):
    """The process of a writer is gone."""


class Faulty(MemoryFiles):
    """Calls `before` before each operation, with its name and its file.

    It may raise an error or let others do something; "late" loses the request until `arrive` is called,
    "lost" loses only the answer.
    """

    def __init__(
        self, content: dict[str, bytes], before: Callable[[str, str], str | None] = lambda *_: None
    ) -> None:
        super().__init__(content)
        self.before = before
        self._late: list[tuple[str, bytes]] = []

    def arrive(self) -> None:
        """Requests that were late arrive."""
        for name, content in self._late:
            self.content.setdefault(name, content)
        self._late = []

    def put_if_absent(self, name: str, content: bytes) -> None:
        match self.before("put", name):
            case "late":
                self._late.append((name, content))
                raise Uncertain(errno.EIO, "timed out")
            case "lost":
                with_answer = MemoryFiles(self.content)
                with_answer.put_if_absent(name, content)
                raise Uncertain(errno.EIO, "timed out")
            case "repeated":
                super().put_if_absent(name, content)
        super().put_if_absent(name, content)

    def put(self, name: str, write: Callable[[Output], object]) -> Created:
        self.before("write", name)
        return super().put(name, write)

    def list(self, folder: str) -> Iterator[str]:
        self.before("list", folder)
        return super().list(folder)

    def read(self, name: str) -> bytes:
        self.before("read", name)
        return super().read(name)

    def delete(self, name: str) -> None:
        self.before("delete", name)
        super().delete(name)


SERVER = """
import sys
import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
_, port = server.get_host_and_port()
url = f"http://127.0.0.1:{port}"
s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1",
                  aws_access_key_id="test", aws_secret_access_key="test")
s3.create_bucket(Bucket="tests")
print(url, flush=True)
sys.stdin.read()
"""


@contextmanager
def bucket() -> Iterator[Callable[[str], ObjectFiles]]:
    """A bucket of an object store, which makes the files of a folder in it."""
    command = [sys.executable, "-c", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as server:  # type: ignore[call-overload]
        endpoint = server.stdout.readline().strip()
        options = {
            "endpoint": endpoint,
            "region": "us-east-1",
            "access_key_id": "test",
            "secret_access_key": "test",
            "allow_http": "true",
        }
        try:
            yield lambda folder: ObjectFiles(f"s3://tests/{folder}", options)
        finally:
            server.kill()
