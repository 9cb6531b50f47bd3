"""The compiler for the device, and whether there is one.

``numba-cuda`` takes the place of numba's own ``numba.cuda``. With ``NUMBA_ENABLE_CUDASIM=1`` its
simulator runs the same kernels in plain Python.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from devote.kernels.jitable import JITABLE, SHORTCUTS
from devote.protocol import SpecError
from devote.simulate.engine.compiling import fingerprint

REMEDY = "Use engine clocks, which gives the same results, or a machine with an NVIDIA GPU."

ALONE = Lock()
"""Held by a thread that makes kernels or launches them: numba loads them without asking whether
another thread does."""

ROLLED = "rolled"
"""In the name of a kernel whose loops are not to be unrolled."""

LABEL = re.compile(r'^"?([\w.$-]+)"?:')
TARGET = re.compile(r'label %"?([\w.$-]+)"?')
LOOPS = 1_000_000
"""Above all numbers that numba gives to what it tells the compiler."""

_registered: set[Any] = set()


def check_device() -> None:
    """Refuse if there is no device, no driver, or no compiler for it."""
    if why := why_no_device():
        raise SpecError(f"engine='cuda' cannot run here: {why}.\n{REMEDY}")


@cache
def why_no_device() -> str:
    """Why nothing can run on a device; empty if it can."""
    if simulated():
        return ""
    try:
        import numba_cuda  # noqa: F401
    except ImportError:
        return "numba-cuda is not installed (pip install 'devote[gpu]')"
    _mend_numpy()
    _spare_algebra()
    # With fewer, a lane may wait for another one. The driver reads it once.
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    try:
        from numba import cuda

        if not cuda.is_available():
            return "there is no NVIDIA GPU, or no driver for it"
        cuda.current_context()
    except Exception as error:  # whatever a driver that does not work may raise
        return f"the NVIDIA driver does not work ({type(error).__name__})"
    return ""


def free_bytes() -> int:
    """How much memory of the device is free."""
    if simulated():
        return 1 << 30
    from numba import cuda

    return int(cuda.current_context().get_memory_info()[0])


@contextmanager
def freed_later() -> Iterator[None]:
    """Free no memory of the device before the end: it would end all else first."""
    if simulated():
        yield
        return
    from numba import cuda

    context = cuda.current_context()
    try:
        with context.defer_cleanup():
            yield
    finally:
        context.deallocations.clear()
        context.memory_manager.deallocations.clear()


def multiprocessors() -> int:
    """How many multiprocessors the device has."""
    if simulated():
        return 1
    from numba import cuda

    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


@cache
def simulated() -> bool:
    """Whether plain Python stands in for the device."""
    from numba import config

    return bool(getattr(config, "ENABLE_CUDASIM", False))


def prepare() -> None:
    """Tell the compiler of every jitable function."""
    if simulated():
        return
    _mend_numpy()
    _mend_compiler()
    _never_wrap()
    from numba.cuda.extending import overload, register_jitable

    for function in JITABLE:
        if function in SHORTCUTS and function not in _registered:
            overload(function, strict=False)(lambda *given: _never)
        elif function not in _registered:
            register_jitable(function)
        _registered.add(function)


def _never(*given: Any) -> bool:
    """In place of a shortcut."""
    return False


def device_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that kernels call as if its code were theirs."""
    from numba import cuda

    options = {} if simulated() else {"forceinline": True}
    made: Callable[..., Any] = cuda.jit(device=True, **options)(function)
    return made


def compile_kernel(
    make: Callable[..., Any], *given: Any, registers: int | None = None, rolled: bool = False
) -> Any:
    """The kernel that ``make`` makes, compiled when first run, unless it is in the cache on disk.

    ``rolled``: its loops are left as they are, for code of which many teams run different parts at
    once: they share a cache that has not room for all of it, unrolled. The last argument of
    ``make`` is a digest of the code that the kernel calls, see ``fingerprint``, and of how many
    registers a thread may have, which numba's cache does not ask for either.
    """
    prepare()
    from numba import cuda

    kernel = make(*given, fingerprint(make(*given, 0)) ^ (registers or 0))

    if simulated():
        return cuda.jit(kernel)
    if rolled:
        kernel.__qualname__ += f".{ROLLED}"
    from numba.cuda.core import config

    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a small grid is what was asked for
    # Optimising once more when linking would fuse again.
    return cuda.jit(kernel, lto=False, cache=True, max_registers=registers)


def _mend_numpy() -> None:
    """numba-cuda 0.30 asks for ``numpy.row_stack``, another name of ``vstack`` that is gone."""
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack


def _spare_algebra() -> None:
    """Let numba-cuda start without SciPy's linear algebra, which it imports to see if it is there.

    That takes half a second, and no kernel here has a use for it.
    """
    from numba.cuda.np import linalg

    asks, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        from numba.cuda.np import arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = asks


@cache
def _mend_compiler() -> None:
    """Round after each multiplication, as CPUs do, and leave the loops of some kernels as they are.

    NVVM fuses a multiplication and an addition by default, and numba-cuda has no option for it:
    results must be equal to the last bit. Nor has it one for unrolling.
    """
    from numba.cuda.cudadrv import nvvm

    compile_ir = nvvm.compile_ir

    def mended(ir: list[str], **options: Any) -> Any:
        if any(ROLLED in part for part in ir):
            ir = [_rolled(part) for part in ir]
        return compile_ir(ir, **{**options, "fma": False})

    nvvm.compile_ir = mended


def _rolled(code: str) -> str:
    """The same code, in which no branch to a block above is to be unrolled."""
    lines, above, n_loops = [], set[str](), 0
    for line in code.splitlines():
        if line.startswith("define"):
            above.clear()
        elif label := LABEL.match(line):
            above.add(label[1])
        elif line.lstrip().startswith("br ") and not above.isdisjoint(TARGET.findall(line)):
            line += f", !llvm.loop !{LOOPS + n_loops}"
            n_loops += 1
        lines.append(line)
    lines.append(f'!{LOOPS - 1} = !{{!"llvm.loop.unroll.disable"}}')
    lines += (f"!{n} = distinct !{{!{n}, !{LOOPS - 1}}}" for n in range(LOOPS, LOOPS + n_loops))
    return "\n".join(lines)


@cache
def _never_wrap() -> None:
    """Take every index as it is, but constants: none that is computed is negative.

    numba counts a negative index from the end, asks so at each access, and has no option for it.
    """
    from llvmlite.ir import Constant  # type: ignore[import-untyped]
    from numba.cuda.np import arrayobj
    from numba.cuda.types import intp

    wrapped = arrayobj.fix_integer_index

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        if isinstance(index, Constant) and index.constant < 0:
            return wrapped(context, builder, kind, index, size)
        return context.cast(builder, index, kind, intp)

    arrayobj.fix_integer_index = as_it_is
