"""What a library of kernels is made of."""

from __future__ import annotations

import pytest

from tidelog.engine.local.native import build
from tidelog.engine.local.native.targets import TARGETS, named


class Module:
    """A compiled module with these functions and constants."""

    def __init__(self, functions: dict[str, bool], constants: tuple[str, ...] = ()) -> None:
        self.functions = [Value(name, declared) for name, declared in functions.items()]
        self.global_variables = [Value(name) for name in constants]


class Value:
    def __init__(self, name: str, is_declaration: bool = False) -> None:
        self.name = name
        self.is_declaration = is_declaration


def test_kernels_that_need_something_or_raise_are_refused() -> None:
    build._check(Module({"v2_run": False, "llvm.memset.p0.i64": True}))
    with pytest.raises(RuntimeError, match=r"need \['memset'\]"):
        build._check(Module({"v2_run": False, "memset": True}))
    with pytest.raises(RuntimeError, match="may raise"):
        build._check(Module({"v2_run": False}, (".const.picklebuf.1",)))


def test_platforms_are_named() -> None:
    assert named("linux-aarch64") is TARGETS["linux", "aarch64"]
    with pytest.raises(ValueError, match="known are linux-x86_64"):
        named("plan9-mips")
