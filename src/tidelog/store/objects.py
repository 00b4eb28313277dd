"""The files of a store in an object store, such as S3, by way of obstore.

A file is put if it is absent by the header `If-None-Match: *`, or what corresponds to it in the stores of
Google and Azure. A request whose answer is lost is repeated; if the first one had succeeded, the second one
finds the file. So FileExistsError means only that somebody made it: who, its content says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any, Final

from tidelog.errors import StoreError
from tidelog.store.files import Created, Output, Uncertain, identity

__all__ = ["ObjectFiles"]

_DENIED: Final = ("PermissionDeniedError", "UnauthenticatedError")
# options of the connection; all others are those of the kind of object store
_OF_CLIENTS: Final = frozenset(
    """
    allow_http allow_invalid_certificates connect_timeout http1_only http2_only pool_idle_timeout
    pool_max_idle_per_host proxy_ca_certificate proxy_excludes proxy_url timeout user_agent
    """.split()
)
_LONGEST: Final = 300  # characters of a message that are worth showing


class ObjectFiles:
    """A folder in an object store, by its URL; `options` are those of obstore. See `files.Files`."""

    folder: None = None

    def __init__(self, url: str, options: Mapping[str, str] | None = None) -> None:
        self.place = url.rstrip("/")
        self._options = dict(options or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectFiles, (self.place, self._options)

    @cached_property
    def _obstore(self) -> Any:
        try:
            return import_module("obstore")
        except ImportError:
            raise StoreError(
                f"the store {self.place} needs the package obstore: pip install 'tidelog[objects]'"
            ) from None

    @cached_property
    def _store(self) -> Any:
        obstore = self._obstore
        client = {key: value for key, value in self._options.items() if key in _OF_CLIENTS}
        others = {key: value for key, value in self._options.items() if key not in _OF_CLIENTS}
        try:
            # without options, those of the environment are used
            return import_module("obstore.store").from_url(
                self.place, client_options=client or None, **others
            )
        except (obstore.exceptions.BaseError, ValueError, OSError) as error:
            raise StoreError(f"the store {self.place} cannot be opened: {_reason(error)}") from None

    def where(self, name: str) -> str:
        return f"{self.place}/{name}"

    def lock(self) -> Callable[[], None]:
        """There are no locks."""
        return lambda: None

    def make_folders(self, *folders: str) -> None:
        """There are no folders."""

    def put_if_absent(self, name: str, content: bytes) -> None:
        with self._errors(name, uncertain=True):
            self._obstore.put(self._store, name, content, mode="create")

    def put(self, name: str, write: Callable[[Output], object]) -> Created:
        """A writer that is not closed leaves nothing."""
        with self._errors(name):
            writer = self._obstore.open_writer(self._store, name)
            output = Output(writer)
            write(output)
            writer.close()
        return output.created

    def list(self, folder: str) -> Iterator[str]:
        with self._errors(folder):
            for found in self._obstore.list(self._store, folder):
                for one in found:
                    yield one["path"]

    def read(self, name: str) -> bytes:
        with self._errors(name):
            return bytes(self._obstore.get(self._store, name).bytes())

    def digest(self, name: str) -> Created:
        return identity(self.read(name))

    def delete(self, name: str) -> None:
        try:
            with self._errors(name):
                self._obstore.delete(self._store, name)
        except FileNotFoundError:
            pass

    @contextmanager
    def _errors(self, name: str, *, uncertain: bool = False) -> Iterator[None]:
        """Errors of obstore as those of a disk; with `uncertain`, what is not an answer is Uncertain."""
        known = self._obstore.exceptions
        denied = tuple(getattr(known, kind) for kind in _DENIED)
        try:
            yield
        except (known.AlreadyExistsError, known.PreconditionError):
            raise FileExistsError(17, "the file exists", self.where(name)) from None
        except (FileNotFoundError, known.NotFoundError) as error:
            raise FileNotFoundError(2, _reason(error), self.where(name)) from None
        except denied as error:
            raise PermissionError(13, _reason(error), self.where(name)) from None
        except (known.BaseError, OSError) as error:
            kind = Uncertain if uncertain else OSError
            raise kind(5, _reason(error), self.where(name)) from None


def _reason(error: BaseException) -> str:
    """What an object store said, or else what obstore says, without its details for developers."""
    text = str(error)
    code, message = (re.search(rf"<{tag}>([^<]+)</{tag}>", text) for tag in ("Code", "Message"))
    if code is not None:
        return code[1] if message is None else f"{code[1]}: {message[1].rstrip('.')}"
    return text.split("\n\nDebug source", 1)[0].strip()[:_LONGEST]
