"""The platforms that kernels are compiled for, and the processors of each.

For x86-64 there are two versions of every kernel: for processors since about 2009 and, with wider vectors,
for those since about 2015. The library itself asks the processor what it can do (`cpuid`), so the choice does
not depend on the operating system.
"""

from __future__ import annotations

import platform
import sys
from ctypes import CDLL, c_int64
from dataclasses import dataclass
from typing import Final

__all__ = ["TARGETS", "Target", "Version", "here", "named", "versions"]


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the kernels: the prefix of its symbols, and the processor in LLVM's words."""

    name: str
    processor: str


@dataclass(frozen=True, slots=True)
class Target:
    """A platform, as LLVM, the linker and wheels name it, and its versions, the best one first."""

    triple: str
    linked: str
    wheel: str
    suffix: str
    versions: tuple[Version, ...]


_X86: Final = (Version("v3", "x86-64-v3"), Version("v2", "x86-64-v2"))
_ARM: Final = (Version("arm", "generic"),)
_APPLE: Final = (Version("arm", "apple-m1"),)
_OLD_LINUX: Final = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"

TARGETS: Final = {
    ("linux", "x86_64"): Target(
        "x86_64-unknown-linux-gnu", "x86_64-linux-gnu", _OLD_LINUX.format("x86_64"), ".so", _X86
    ),
    ("linux", "aarch64"): Target(
        "aarch64-unknown-linux-gnu", "aarch64-linux-gnu", _OLD_LINUX.format("aarch64"), ".so", _ARM
    ),
    ("darwin", "arm64"): Target(
        "arm64-apple-macosx11.0.0", "aarch64-macos", "macosx_11_0_arm64", ".dylib", _APPLE
    ),
    ("darwin", "x86_64"): Target(
        "x86_64-apple-macosx10.13.0", "x86_64-macos", "macosx_10_13_x86_64", ".dylib", _X86
    ),
    ("win32", "amd64"): Target("x86_64-pc-windows-gnu", "x86_64-windows-gnu", "win_amd64", ".dll", _X86),
}

# what x86-64-v3 and v2 require: leaf, register (eax, ebx, ecx, edx) and bits of `cpuid`
_OS_SAVES_VECTORS: Final = (1, 2, (27,))
_REQUIRED: Final = {
    "v3": (
        (1, 2, (12, 22, 28, 29)),  # FMA, MOVBE, AVX, F16C
        (7, 1, (3, 5, 8)),  # BMI1, AVX2, BMI2
        (0x80000001, 2, (5,)),  # LZCNT
    ),
    "v2": ((1, 2, (0, 9, 13, 19, 20, 23)),),  # SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT
}
_VECTORS: Final = 0b110  # the state that the operating system must save for AVX


def here() -> Target | None:
    """The platform of this process; None if there are no kernels for it."""
    return TARGETS.get((sys.platform, platform.machine().lower()))


def named(name: str) -> Target:
    """The platform with a name like `linux-aarch64`; the one of this process for an empty name."""
    if not name:
        name = f"{sys.platform}-{platform.machine().lower()}"
    known = {"-".join(key): target for key, target in TARGETS.items()}
    if name not in known:
        raise ValueError(f"unknown platform {name}; known are {', '.join(known)}")
    return known[name]


def versions(target: Target, library: CDLL) -> list[Version]:
    """The versions that this processor can run, the best one first."""
    if target.versions is not _X86:
        return list(target.versions)
    library.xgetbv.restype = c_int64
    registers = (c_int64 * 4)()

    def has(leaf: int, register: int, bits: tuple[int, ...]) -> bool:
        library.cpuid(c_int64(leaf & 0x80000000), c_int64(0), registers)
        if registers[0] & 0xFFFFFFFF < leaf:  # the highest leaf that there is
            return False
        library.cpuid(c_int64(leaf), c_int64(0), registers)
        return all(registers[register] >> bit & 1 for bit in bits)

    saves_vectors = has(*_OS_SAVES_VECTORS) and library.xgetbv() & _VECTORS == _VECTORS
    able = {name: all(has(*need) for need in needs) for name, needs in _REQUIRED.items()}
    able["v3"] = able["v3"] and able["v2"] and saves_vectors
    return [version for version in target.versions if able[version.name]]
