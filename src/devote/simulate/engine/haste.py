"""What is put off, left out or remembered while loops are compiled or loaded, to take less time."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from numba.core import errors as numba_errors
from numba.core import postproc as numba_postproc
from numba.core import targetconfig as numba_targetconfig
from numba.core import transforms as numba_transforms
from numba.core.registry import cpu_target
from numba.core.types import functions as numba_functions

errors: Any = numba_errors
functions: Any = numba_functions
postproc: Any = numba_postproc
stack: Any = numba_targetconfig.ConfigStack
target: Any = cpu_target
transforms: Any = numba_transforms


@contextmanager
def in_haste() -> Iterator[None]:
    """Compile without a search for garbage, colours of messages and what was found out before.

    The compiler makes so many objects that a tenth of the time goes for garbage. As much goes for
    colours of messages, one for each way to call a function that is not taken.
    """
    was_enabled, colours = gc.isenabled(), vars(errors.termcolor())
    gc.disable()
    colours["_markup"] = _plain
    functions.BaseFunction.get_call_type = _remembered_call
    postproc.PostProcessor.run = _follow_variables
    try:
        yield
    finally:
        postproc.PostProcessor.run = _follow_all
        functions.BaseFunction.get_call_type = _find_call
        colours.pop("_markup", None)
        if was_enabled:
            gc.enable()


def _plain(text: str, *colours: object) -> str:
    return text


_follow_all = postproc.PostProcessor.run


def _follow_variables(processor: Any, emit_dels: bool = False, **options: Any) -> None:
    """After each step of the compiler: how blocks follow each other, where variables live.

    By itself numba also works out which variables each block needs, which nobody asks for here.
    """
    function = processor.func_ir
    if emit_dels or function.is_generator:
        _follow_all(processor, emit_dels, **options)
        return
    function.blocks = transforms.canonicalize_cfg(function.blocks)
    function.variable_lifetime = postproc.VariableLifetime(function.blocks)
    function.generator_info = None


_find_call = functions.BaseFunction.get_call_type

_calls: list[tuple[Any, dict[Any, Any]]] = []
"""For each set of flags that functions are compiled with: how calls were found to be made."""


def _remembered_call(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """Which of the ways to call a function is taken for arguments of these types.

    Numba tries one way after another, dozens for an index or a sum, and finds the same each time.
    """
    known = _calls_with(stack.top_or_none())
    try:
        # Types that are equal are one object, with a number of its own.
        types = tuple([kind._code for kind in args])
        key = context, function._code, types, tuple([(k, kws[k]._code) for k in kws])
    except AttributeError:  # a value in place of a type
        return _find_call(function, context, args, kws)
    if key in known:
        signature, function._impl_keys[signature.args] = known[key]
        return signature
    signature = _find_call(function, context, args, kws)
    if signature is not None:
        known[key] = signature, function._impl_keys[signature.args]
    return signature


def _calls_with(flags: Any) -> dict[Any, Any]:
    """What is known with these flags; the last asked for is first, as flags are slow to compare."""
    for i, (others, known) in enumerate(_calls):
        if flags is others or flags == others:
            if i or flags is not others:
                del _calls[i]
                _calls.insert(0, (flags, known))
            return known
    _calls.insert(0, (flags, {}))
    return _calls[0][1]


def _load_without_scipy() -> None:
    """Let numba load what it knows of arrays, but not SciPy's linear algebra.

    By itself it imports that, to see whether it is there: half of the time it takes until a loop
    has been loaded. Functions that need it import it when they are compiled.
    """
    from numba.np import linalg as numba_linalg

    linalg: Any = numba_linalg
    import_scipy = linalg.ensure_blas
    linalg.ensure_blas = _look_for_scipy
    try:
        from numba.np import arraymath as numba_arraymath

        arraymath: Any = numba_arraymath
        arraymath.ensure_blas = import_scipy
    finally:
        linalg.ensure_blas = import_scipy
    del target.target_context.load_additional_registries
    target.target_context.load_additional_registries()


def _look_for_scipy() -> None:
    if find_spec("scipy") is None:
        raise ImportError


target.target_context.load_additional_registries = _load_without_scipy
