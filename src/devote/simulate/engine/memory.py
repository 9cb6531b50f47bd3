"""Two things about memory, neither of which changes anything but time and room.

``prefetch_row``: with many players each pull touches rows that no cache holds. The uniforms of a
block say in advance who wakes, so the loop asks for a player's rows some pulls early and finds
them there.

``sparse_zeros``: numpy takes large arrays in pages of 2 MiB. Where single places far from each
other are written to, pages of 4 KiB take less.
"""

import math
import mmap
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils as numba_cgutils
from numba.core import types as numba_types
from numba.extending import intrinsic

cgutils: Any = numba_cgutils
types: Any = numba_types

LARGE = 1 << 22
"""Bytes of an array for which numpy asks for large pages."""

FOR_WRITING, KEEP, DATA = 1, 3, 1
"""How a row is fetched: hints to ``llvm.prefetch``."""


def _prefetch_row(typing_context: Any, table: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(table)(context, builder, arguments[0])
        n_columns = cgutils.unpack_tuple(builder, array.shape)[1]
        item = context.get_constant(types.intp, context.get_abi_sizeof(array.data.type.pointee))
        row_bytes = builder.mul(n_columns, item)
        byte = ir.IntType(8).as_pointer()
        index = context.cast(builder, arguments[1], row, types.intp)
        first = builder.gep(
            builder.bitcast(array.data, byte), [builder.mul(index, row_bytes)], inbounds=True
        )
        last = builder.gep(
            first, [builder.sub(row_bytes, context.get_constant(types.intp, 1))], inbounds=True
        )
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        hints = [word(FOR_WRITING), word(KEEP), word(DATA)]
        builder.call(function, [first, *hints])
        builder.call(function, [last, *hints])
        return context.get_dummy_value()

    return types.none(table, row), generate


prefetch_row: Any = intrinsic(_prefetch_row)
"""Fetch the first and the last byte of a row of a contiguous table: all of it, up to 128 bytes."""


def sparse_zeros(shape: tuple[int, ...], kind: Any) -> Any:
    """Zeros, few of which are ever written to."""
    n_bytes = math.prod(shape) * int(np.dtype(kind).itemsize)
    if n_bytes < LARGE:
        return np.zeros(shape, dtype=kind)
    return np.frombuffer(mmap.mmap(-1, n_bytes), dtype=kind).reshape(shape)
