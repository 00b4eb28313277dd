"""Memory access by address, inside compiled kernels.

A kernel is compiled once and must handle relations of any number and arity. So it receives them as integers:
the addresses of columns, tables and lists, in one array of descriptors. The owner of a descriptor must keep
the arrays alive and in place while a kernel may run.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = [
    "add32",
    "add64",
    "claim64",
    "load8",
    "load32",
    "load64",
    "load_word",
    "prefetch",
    "set_bits32",
    "set_bits64",
    "store8",
    "store32",
    "store64",
    "store_word",
]


def _pointer(context: Any, builder: Any, address: Any, index: Any, bits: int) -> Any:
    base = builder.inttoptr(address, ir.IntType(bits).as_pointer())
    return builder.gep(base, [index])


def _loader(bits: int) -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any, index: Any) -> Any:
        """Load the integer of this width at an index of an array."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(_pointer(context, builder, args[0], args[1], bits))
            return value if bits == 64 else builder.sext(value, ir.IntType(64))

        return types.int64(types.int64, types.int64), codegen

    return load


def _word_loader() -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any, offset: Any) -> Any:
        """Load 8 bytes at an offset in bytes, which need not be aligned."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = _pointer(context, builder, args[0], args[1], 8)
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

        return types.int64(types.int64, types.int64), codegen

    return load


def _storer(bits: int) -> Any:
    @intrinsic
    def store(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        """Store an integer of this width at an index of an array."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = args[2] if bits == 64 else builder.trunc(args[2], ir.IntType(bits))
            builder.store(value, _pointer(context, builder, args[0], args[1], bits))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return store


def _word_storer() -> Any:
    @intrinsic
    def store(typingctx: Any, address: Any, offset: Any, value: Any) -> Any:
        """Store 8 bytes at an offset in bytes, which need not be aligned."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = _pointer(context, builder, args[0], args[1], 8)
            builder.store(args[2], builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return store


def _prefetcher() -> Any:
    @intrinsic
    def prefetch(typingctx: Any, address: Any, offset: Any) -> Any:
        """Begin to load the cache line at an offset, in bytes, for reading. Any address is allowed."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            read, near, data = (number(n) for n in (0, 3, 1))
            builder.call(function, [_pointer(context, builder, args[0], args[1], 8), read, near, data])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    return prefetch


def _changer(operation: str, bits: int) -> Any:
    @intrinsic
    def change(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        """Change an integer of this width at an index of an array, which other threads may change, too."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = args[2] if bits == 64 else builder.trunc(args[2], ir.IntType(bits))
            builder.atomic_rmw(
                operation, _pointer(context, builder, args[0], args[1], bits), value, "monotonic"
            )
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return change


def _claimer() -> Any:
    @intrinsic
    def claim(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        """Store a word in place of 0, unless another thread has done so; returns the word that was there."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer, free = _pointer(context, builder, args[0], args[1], 64), ir.IntType(64)(0)
            before = builder.cmpxchg(pointer, free, args[2], "monotonic", "monotonic")
            return builder.extract_value(before, 0)

        return types.int64(types.int64, types.int64, types.int64), codegen

    return claim


claim64 = _claimer()
load_word, store_word = _word_loader(), _word_storer()
prefetch = _prefetcher()
add32, add64, set_bits32, set_bits64 = (_changer(do, bits) for do in ("add", "or") for bits in (32, 64))
load8, load32, load64 = _loader(8), _loader(32), _loader(64)
store8, store32, store64 = _storer(8), _storer(32), _storer(64)
