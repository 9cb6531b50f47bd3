"""Arrays without reference counts, inside compiled code.

Numba counts references to each array that a function takes or slices, atomically; in a loop
that slices five rows per pull this costs ten times the work itself. ``borrowed`` hands out the
same arrays without an owner, so there is nothing to count. The caller's own arrays must
outlive them, as arguments of a compiled function always do.
"""

from typing import Any

from numba.core import cgutils as numba_cgutils
from numba.core import types as numba_types
from numba.extending import intrinsic

cgutils: Any = numba_cgutils
types: Any = numba_types


def _borrowed(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _forget_owners(context, builder, value, arguments[0])

    return value(value), generate


borrowed: Any = intrinsic(_borrowed)
"""The value, an array or a tuple of arrays, with the owners of all arrays forgotten."""


def _forget_owners(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        items = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)
        return context.make_tuple(
            builder, kind, [_forget_owners(context, builder, *item) for item in items]
        )
    return value
