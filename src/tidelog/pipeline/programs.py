"""The program of a pipeline, and the Python functions that it calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module

from tidelog.errors import PipelineError
from tidelog.pipeline.spec import Spec
from tidelog.program.modules import bundled

__all__ = ["functions_of", "program_text"]


def program_text(spec: Spec) -> str:
    if spec.text is not None:
        return bundled(spec.text, str(spec.program))
    problem = f"{spec.name}: program: {spec.program}"
    try:
        text = spec.program.read_bytes().decode()
        return bundled(text, str(spec.program))  # the store keeps it, and imports could change
    except OSError as error:
        raise PipelineError(f"{problem} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PipelineError(f"{problem} is not UTF-8 text (at byte {error.start})") from None


def functions_of(spec: Spec) -> list[Callable[..., object]]:
    """The public functions of the modules that the spec names."""
    found: list[Callable[..., object]] = []
    for name in spec.functions:
        try:
            module = import_module(name)
        except Exception as error:  # any error of the user's module
            raise PipelineError(f"{spec.name}: functions: {name} cannot be imported: {error}") from None
        members = inspect.getmembers(module, inspect.isfunction)
        found += [f for n, f in members if f.__module__ == name and not n.startswith("_")]
    return found
