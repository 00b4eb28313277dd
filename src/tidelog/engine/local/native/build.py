"""Compiles the kernels to a library for one platform. Needs Numba and a linker, which `ziglang` brings.

Numba translates each kernel, in parallel, to LLVM's intermediate representation. Then all of them are linked,
optimized and compiled once for each version of the platform, with the kernels that Python calls as exported
functions. The library depends on nothing, so it works with every version of Python and of the system's
libraries.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from tidelog.engine.local.kernels.signatures import SIGNATURES
from tidelog.engine.local.native.targets import Target, Version, named

__all__ = ["MODULES", "build", "main"]

_OPTIONS: Final = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
MODULES: Final = (
    "bit_atoms",
    "bit_sweep",
    "closure",
    "computed",
    "conditions",
    "derive",
    "extrema",
    "indexes",
    "inserting",
    "joins",
    "probes",
    "look_ahead",
    "numbers",
    "partitions",
    "pending",
    "ranges",
    "replacing",
    "rounds",
    "rows",
    "sharing",
    "support",
    "sweep",
    "terms",
    "texts",
    "traces",
    "undo",
)

_STRICT: Final = {".so": ("-Wl,-z,defs",)}  # other linkers refuse what is undefined by default

# `cpuid` and `xgetbv` tell what an x86 processor can do
_REGISTERS: Final = "{ i32, i32, i32, i32 }"
_ASKED: Final = "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}"
_STORED: Final = "".join(
    f"""
  %r{i} = extractvalue {_REGISTERS} %all, {i}
  %w{i} = zext i32 %r{i} to i64
  %p{i} = getelementptr i64, ptr %out, i64 {i}
  store i64 %w{i}, ptr %p{i}"""
    for i in range(4)
)
_ASKING: Final = f"""
define dllexport void @cpuid(i64 %leaf, i64 %sub, ptr %out) {{
  %a = trunc i64 %leaf to i32
  %c = trunc i64 %sub to i32
  %all = call {_REGISTERS} asm "cpuid", "{_ASKED}"(i32 %a, i32 %c){_STORED}
  ret void
}}

define dllexport i64 @xgetbv() {{
  %low = call i32 asm "xgetbv", "={{ax}},{{cx}},~{{edx}},~{{dirflag}},~{{fpsr}},~{{flags}}"(i32 0)
  %wide = zext i32 %low to i64
  ret i64 %wide
}}
"""

# Windows calls it when the library is loaded
_LOADED: Final = """
define i32 @DllMainCRTStartup(ptr %module, i32 %reason, ptr %reserved) {
  ret i32 1
}
"""


def main(file: str, platform: str) -> None:
    """Build for a platform, by its name; an empty name is the platform at hand."""
    build(Path(file), named(platform))


def build(file: Path, target: Target) -> None:
    """Write the library of a platform to a file, which is complete or not there at all."""
    parts = _translated()
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        with ThreadPoolExecutor() as threads:  # LLVM runs outside the interpreter lock
            compiled = list(threads.map(lambda version: _compiled(parts, target, version), target.versions))
        objects = []
        for version, data in zip(target.versions, compiled, strict=True):
            objects.append(Path(folder, f"{version.name}.o"))
            objects[-1].write_bytes(data)
        made = Path(folder, f"kernels{target.suffix}")
        _link(objects, made, target, Path(folder))
        made.replace(file)


# -- translation, by Numba


def _translated() -> list[str]:
    """All kernels in LLVM's intermediate representation."""
    workers = min(os.cpu_count() or 1, 8)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        shares = pool.map(_translate, [(i, workers) for i in range(workers)])
        return [part for share in shares for part in share]


def _translate(share: tuple[int, int]) -> list[str]:
    """The kernels of one share, given as its number and the number of shares."""
    os.environ["NUMBA_OPT"] = "0"  # optimized later, for the processors of the target
    numba: Any = import_module("numba")
    compiler: Any = import_module("numba.core.compiler")
    cpu: Any = import_module("numba.core.registry").cpu_target

    from tidelog.engine.local.kernels import compiled

    for name in MODULES:
        import_module(f"tidelog.engine.local.kernels.{name}")
    declared = {name: " ".join(_parameters(function)) for name, function in compiled.EXPORTED.items()}
    if declared != SIGNATURES:
        raise RuntimeError(f"kernels.signatures is out of date: {declared.items() ^ SIGNATURES.items()}")
    contexts = (cpu.typing_context, cpu.target_context)
    for context in contexts:
        context.refresh()
    parts = []
    number, shares = share
    for name, function in list(compiled.KERNELS.items())[number::shares]:
        flags = compiler.Flags()  # compiling changes them
        cpu.options.parse_as_flags(flags, _OPTIONS)
        flags.no_compile = True
        integers = (numba.int64,) * len(_parameters(function))
        made = compiler.compile_extra(*contexts, function, integers, numba.int64, flags, {})
        adapter = _adapter(compiled.symbol(name), made.fndesc.llvm_func_name, len(integers))
        parts.append(made.library.get_llvm_str() + adapter)
    return parts


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _adapter(symbol: str, native: str, count: int) -> str:
    """A plain function for a kernel, which Numba gives two more parameters: the result and an exception."""
    arguments = [f"i64 %a{i}" for i in range(count)]
    return f"""
define i64 @"{symbol}"({", ".join(arguments)}) alwaysinline {{
  %result = alloca i64
  %exception = alloca ptr
  %status = call i32 @"{native}"({", ".join(["ptr %result", "ptr %exception", *arguments])})
  %value = load i64, ptr %result
  ret i64 %value
}}
"""


# -- compilation, by LLVM


def _compiled(parts: list[str], target: Target, version: Version) -> bytes:
    """The object file of one version."""
    from llvmlite import binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=version.processor, opt=3, reloc="pic", codemodel="default"
    )
    context = llvm.create_context()
    texts = [*parts, *_exports(version)]
    if version is target.versions[0]:
        texts += [_ASKING] if target.triple.startswith("x86_64") else []
        texts += [_LOADED] if target.suffix == ".dll" else []
    layout = str(machine.target_data)
    modules = [llvm.parse_assembly(_retargeted(text, target, layout), context) for text in texts]
    whole = modules[0]
    for module in modules[1:]:
        whole.link_in(module)
    names = {f"{version.name}_{name}" for name in SIGNATURES} | {"cpuid", "xgetbv", "DllMainCRTStartup"}
    for value in (*whole.functions, *whole.global_variables):
        if not value.is_declaration and value.name not in names:
            value.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(whole, passes)
    _check(whole)
    return bytes(machine.emit_object(whole))


def _exports(version: Version) -> list[str]:
    """The functions that Python calls."""
    from tidelog.engine.local.kernels.compiled import symbol

    made = []
    for name, parameters in SIGNATURES.items():
        arguments = ", ".join(f"i64 %a{i}" for i in range(len(parameters.split())))
        made.append(f"""
declare i64 @"{symbol(name)}"({arguments})
define dllexport i64 @{version.name}_{name}({arguments}) {{
  %value = call i64 @"{symbol(name)}"({arguments})
  ret i64 %value
}}
""")
    return made


def _retargeted(text: str, target: Target, layout: str) -> str:
    """The text of a module for another platform, without calls of the C library."""
    text = re.sub(r"^target (triple|datalayout) = .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(define .*\)[^)]*) \{$", r'\1 "no-builtins" nounwind {', text, flags=re.MULTILINE)
    if target.suffix != ".dll":
        text = text.replace("define dllexport", "define")
    return f'target triple = "{target.triple}"\ntarget datalayout = "{layout}"\n{text}'


def _check(module: Any) -> None:
    """Raise unless the kernels need nothing from outside and can raise no exception of Numba's."""
    needed = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    raised = [g.name for g in module.global_variables if "pickle" in g.name]
    if needed or raised:
        raise RuntimeError(f"kernels are not self-contained: they need {needed} and may raise {raised}")


# -- linking


def _link(objects: list[Path], file: Path, target: Target, scratch: Path) -> None:
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target.linked, "-shared", "-nostdlib"]
    command += ["-Wl,-s", *_STRICT.get(target.suffix, ()), "-o", str(file), *map(str, objects)]
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(scratch), "ZIG_LOCAL_CACHE_DIR": str(scratch)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the kernels could not be linked: {done.stderr.strip()[-2000:]}")
