"""Puts the compiled kernels into wheels. An editable installation compiles them at first use instead."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NATIVE = "tidelog/engine/local/native"


class Kernels(BuildHookInterface[Any]):
    """Compiles for the platform at hand, or for the one in TIDELOG_PLATFORM, like `linux-aarch64`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from tidelog.engine.local.native.library import compile_to, file_name
        from tidelog.engine.local.native.targets import named

        wanted = os.environ.get("TIDELOG_PLATFORM", "")
        target = named(wanted)
        self._folder = Path(tempfile.mkdtemp())
        file = self._folder / file_name(target)
        done = compile_to(file, wanted)
        if done.returncode:
            raise RuntimeError(f"the kernels could not be compiled: {done.stderr}")
        build_data["force_include"][str(file)] = f"{_NATIVE}/{file.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{target.wheel}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self._folder)
