"""How a loop and the functions inlined in it become machine code: once, as a whole.

By itself numba optimises each function, makes machine code of it, and does both again where it is
inlined. That of the functions alone is never run: here each is simplified and linked into what
calls it. The loop needs no simplifying before it is linked and optimised with all of them. Together
that takes a quarter to a third less time.

By itself numba also takes each tuple apart wherever it is handed to a function, and puts it
together again there: an arena has more than a hundred parts. Here tuples of ours are handed over
whole, which is less to write, to read and to simplify: an eighth of the time.
"""

from typing import Any, ClassVar

from numba.core import codegen as numba_codegen
from numba.core import compiler as numba_compiler
from numba.core import compiler_machinery as numba_machinery
from numba.core import ir as numba_ir
from numba.core import lowering as numba_lowering
from numba.core import typed_passes as numba_passes
from numba.core import types as numba_types
from numba.core.datamodel import packer as numba_packer
from numba.core.registry import cpu_target

codegen: Any = numba_codegen
compiler: Any = numba_compiler
passes: Any = numba_passes
machinery: Any = numba_machinery
ir: Any = numba_ir
lowering: Any = numba_lowering
types: Any = numba_types
packer: Any = numba_packer
target: Any = cpu_target


class _NowhereYet:
    """Where a function's constants are to be found: nowhere, until the loop has machine code."""

    def __init__(self, waiting: list[tuple[str, Any]]) -> None:
        self._waiting = waiting

    def set_env(self, name: str, constants: Any) -> None:
        """Called by numba once a function is lowered."""
        self._waiting.append((name, constants))


class InnerLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """What callers link; it never becomes machine code."""

    waiting: ClassVar[list[tuple[str, Any]]] = []
    """Functions' constants by the symbol that is to point at them, for all libraries."""

    @property
    def codegen(self) -> Any:
        """Asked by numba for nothing but ``set_env``."""
        return _NowhereYet(self.waiting)

    def _optimize_final_module(self) -> None:
        return

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        return 0


class LoopLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The loop, with all that is inlined in it."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def add_ir_module(self, module: Any) -> None:
        """Called by numba with the loop, and with what takes its arguments out of Python's objects.

        The latter is called once in thousands of pulls: to improve it takes a fifth of the time.
        """
        if module.name == "wrapper":
            for function in module.functions:
                if not function.is_declaration:
                    function.attributes.add("noinline")
                    function.attributes.add("optnone")
        super().add_ir_module(module)


class _Whole:
    """How a tuple is handed over: as it is."""

    def __init__(self, model: Any) -> None:
        self.get_argument_type = model.get_value_type

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Called by numba where a function is called."""
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Called by numba where a function begins."""
        return value


class _Models:
    """How arguments of each type are handed over."""

    def lookup(self, kind: Any) -> Any:
        """Called by numba for each argument."""
        model = target.target_context.data_model_manager.lookup(kind)
        return _Whole(model) if _is_ours(kind) else model


def _is_ours(kind: Any) -> bool:
    if isinstance(kind, types.BaseNamedTuple):
        return str(kind.instance_class.__module__).startswith("devote.")
    return isinstance(kind, types.BaseTuple) and any(map(_is_ours, kind))


def _pack(kinds: Any) -> Any:
    return packer.ArgPacker(_Models(), kinds)


# For all that is compiled in this process, as both sides of a call must agree; functions of others
# take no tuples of ours.
target.target_context.get_arg_packer = _pack


class Lower(lowering.Lower):  # type: ignore[misc]
    """A function without references to count: its variables need no place in memory.

    By itself numba keeps each variable that several blocks use in memory, writes zeros there where
    it ends, and reads the old value before each new one: an arena has more than a hundred parts. A
    variable that one place assigns, before all that use it, is a value; any other is only written.
    """

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        if self.context.enable_nrt:
            return
        lifetime = self.func_ir.variable_lifetime
        before = lifetime.cfg.dominators()
        assigned: dict[str, list[int]] = {}
        for label, block in self.blocks.items():
            for step in block.find_insts(ir.Assign):
                assigned.setdefault(step.target.name, []).append(label)
        used: dict[str, list[int]] = {}
        for label, names in lifetime.usedefs.usemap.items():
            for name in names:
                used.setdefault(name, []).append(label)
        for name, [first, *others] in assigned.items():
            later = (first in before[label] and first < label for label in used.get(name, ()))
            if not others and all(later):
                self._singly_assigned_vars.add(name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Called by numba where a variable is assigned."""
        if self.context.enable_nrt or name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Called by numba where a variable ends."""
        if self.context.enable_nrt:
            super().delvar(name)


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(passes.NativeLowering):  # type: ignore[misc]
    """Numba's own lowering, into a library of ours."""

    _name = "devote_lowering"

    @property
    def lowering_class(self) -> Any:
        """Asked by numba."""
        return Lower

    def run_pass(self, state: Any) -> bool:
        """Called by numba's pipeline."""
        form = InnerLibrary if state.flags.no_cpython_wrapper else LoopLibrary
        state.library = form(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        done: bool = super().run_pass(state)
        return done


NOT_FOR_OURS = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NopythonRewrites",
    "IRLegalization",
}
"""Steps for what kernels of ours have not: closures, ``with``, messages, sums of whole arrays,
references that end with a variable."""


class Compiler(compiler.CompilerBase):  # type: ignore[misc]
    """Numba's pipeline but for its lowering, and for steps that would find nothing to do."""

    def define_pipelines(self) -> list[Any]:
        """Called by numba."""
        pipeline = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = self.state.func_id.modname.startswith("devote.")
        pipeline.passes = [
            (Lowering if step is passes.NativeLowering else step, what)
            for step, what in pipeline.passes
            if not (ours and step.__name__ in NOT_FOR_OURS)
        ]
        pipeline.finalize()
        return [pipeline]


def hand_over_constants() -> None:
    """Let the loop that has just been compiled find the constants of functions inlined in it."""
    whole = target.target_context.codegen()
    for name, constants in InnerLibrary.waiting:
        if whole._engine.is_symbol_defined(name):
            whole.set_env(name, constants)
