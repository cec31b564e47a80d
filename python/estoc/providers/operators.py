"""Estoc's kernels among those of the package cutlass.operators: a provider, and operators by rank.

Importing this module imports that package (`pip install nvidia-cutlass-operators`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

try:
    import cutlass.operators as operators
    from cutlass.operators.arch import TargetSm
    from cutlass.operators.artifact import CompiledArtifact
    from cutlass.operators.fusion import trace_in_out
    from cutlass.operators.metadata import (
        BLASDesignMetadata,
        DenseTensorConstraints,
        EpilogueMetadata,
        GemmOperandsMetadata,
        OperatorMetadata,
        ScaledOperandConstraints,
    )
    from cutlass.operators.providers import available_providers
    from cutlass.operators.workspace import AllocationRequirement
except ImportError as error:
    raise ImportError(
        f"estoc.providers.operators needs cutlass.operators: pip install nvidia-cutlass-operators ({error})",
        name="cutlass",
    ) from error

from .._estoc import (
    EpilogueArguments,
    Error,
    GemmArguments,
    GroupedGemmArguments,
    InvalidValueError,
    Kernel,
    RuntimeArguments,
    ScaledTensor,
    Tensor,
    UnsupportedError,
)
from ..compat._ranked import VERSION, kernel_of_rank
from .cutedsl import _CLASSES

__all__ = ["EstocGemmOperator", "EstocGroupedGemmOperator", "EstocProvider", "register", "unregister"]

_NAMES = {cute: name for name, cute in _CLASSES.items()}
_PROVIDER = "estoc"
_MINIMUM_CC = 80
_TARGETS = [TargetSm(str(_MINIMUM_CC))]
_ALIGNMENT = 256  # bytes, of workspace
# What operators without arguments are made for: A and B, the accumulator, and out.
_FLOATS = ("Float16", "BFloat16", "Float32")
_PRODUCTS = [
    *((one, one, "Float32", out) for one in _FLOATS for out in {one, "Float32"}),
    *(
        (*pair, "Float32", out)
        for pair in product(("Float8E4M3FN", "Float8E5M2"), repeat=2)
        for out in _FLOATS
    ),
    ("Int8", "Int8", "Int32", "Int32"),
]
# Elements, scales, and elements that share a scale.
_SCALED = [
    ("Float8E4M3FN", "Float8E8M0FNU", 32),
    ("Float8E5M2", "Float8E8M0FNU", 32),
    ("Float4E2M1FN", "Float8E8M0FNU", 32),
    ("Float4E2M1FN", "Float8E4M3FN", 16),
]

_candidates = 0


class EstocProvider(operators.providers.Provider):
    """The provider "estoc" of cutlass.operators."""


class _Compiled:
    """A kernel and its code, which later operands of other addresses are run by."""

    def __init__(self, kernel: Kernel, arguments: RuntimeArguments, target: str | None) -> None:
        self.kernel = kernel
        self.artifact = kernel.compile(arguments, target=target)


class _RankedOperator(operators.Operator):
    """What the operators of every kind of arguments have in common; `kind` stands in their names."""

    supported_args_type = operators.RuntimeArguments
    designed_for_min_cc = _MINIMUM_CC
    kind = ""

    def __init__(self, metadata: Any, target_sm: Any = None) -> None:
        super().__init__(metadata)
        self.rank = int(metadata.operator_name.rpartition("_rank")[2])
        self.target_sm = target_sm  # for operands without data, where no other is named

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.metadata, self.target_sm)

    @staticmethod
    def arguments_of(args: Any) -> RuntimeArguments:
        """Estoc's arguments that say the same."""
        raise NotImplementedError

    @classmethod
    def _every_operands(cls) -> Iterator[Any]:
        """What operators take where no arguments say it."""
        raise NotImplementedError

    @classmethod
    def _generate_operators(
        cls,
        metadata_filter: Callable[[Any], bool],
        epilogue_args: Any = None,
        target_sm: Any = None,
        args: Any = None,
    ) -> list[Any]:
        if epilogue_args is not None and not hasattr(epilogue_args, "traced_epilogue"):
            return []  # of groups: the package does not read those
        if args is not None:
            fused = None if epilogue_args is None else EpilogueMetadata.from_args(epilogue_args)
            made = cls._operators_for(args, target_sm, fused)
        else:
            ranks = range(0 if epilogue_args is not None else _candidates)
            every = product(cls._every_operands(), ranks)
            made = (cls(cls._metadata(operands, rank), target_sm) for operands, rank in every)
        return [one for one in made if metadata_filter(one.metadata)]

    @classmethod
    def _operators_for(cls, args: Any, target_sm: Any, epilogue: Any) -> Iterator[Any]:
        """One for each kernel there is; its design is that of the kernel."""
        operands = _described(cls.supported_args_type, *_operands(args))
        for rank in range(_candidates):
            made = cls(cls._metadata(operands, rank, epilogue), target_sm)
            try:
                kernel, _, _ = made._find(args, target_sm)
            except (Error, TypeError, ValueError):
                return
            made.metadata.design = _design(kernel)
            yield made

    @classmethod
    def _metadata(cls, operands: Any, rank: int, epilogue: Any = None) -> Any:
        types = (operands.A, operands.B, operands.out)
        named = "_".join(
            [*(_text(one) for one in types), _NAMES.get(operands.accumulator_type.__name__, "other")]
        )
        return OperatorMetadata(
            operator_name=f"estoc_{VERSION}_{cls.kind}_{named}_rank{rank}",
            operator_class=cls,
            supported_targets=_TARGETS,
            operands=operands,
            epilogue=epilogue,
        )

    def _supports(self, args: Any, target_sm: Any = None) -> Any:
        try:
            self._find(args, target_sm)
        except (Error, TypeError, ValueError) as error:
            return operators.Status.fail(str(error))
        return operators.Status.success()

    def _get_workspace_size(self, args: Any) -> Any:
        kernel, arguments, _ = self._find(args, None)
        return AllocationRequirement(kernel.get_workspace_size(arguments), _ALIGNMENT)

    def _initialize_workspace(self, args: Any, workspace: Any) -> None:
        """Workspace may hold anything."""

    def _compile(self, args: Any, target_sm: Any = None) -> Any:
        compiled = _Compiled(*self._find(args, target_sm))
        return CompiledArtifact(compiled, self, target_sm)

    def _run(self, args: Any, compiled_artifact: Any, stream: Any, workspace: Any = None) -> None:
        """Operands that the compiled kernel does not take find the one of this rank anew."""
        compiled: _Compiled = compiled_artifact.compiled_obj
        arguments = self.arguments_of(args)
        memory = getattr(workspace, "data", workspace)
        try:
            compiled.kernel.run(arguments, compiled.artifact, stream, memory)
        except UnsupportedError:
            kernel_of_rank(arguments, self.rank).run(arguments, None, stream)

    def _find(self, args: Any, target_sm: Any) -> tuple[Kernel, RuntimeArguments, str | None]:
        """The kernel of this rank; for operands without data, for a target."""
        arguments = self.arguments_of(args)
        target_sm = target_sm or self.target_sm
        target = f"sm_{target_sm}" if target_sm is not None and _has_no_data(args) else None
        return kernel_of_rank(arguments, self.rank, target), arguments, target


@EstocProvider.register
class EstocGemmOperator(_RankedOperator):
    """The kernel of a rank for a product, dense or with scales of blocks."""

    supported_args_type = operators.GemmArguments
    designed_for_min_cc = _MINIMUM_CC
    kind = "gemm"

    @staticmethod
    def arguments_of(args: Any) -> RuntimeArguments:
        return GemmArguments(**_product_of(args))

    @classmethod
    def _every_operands(cls) -> Iterator[Any]:
        for a, b, accumulator, out in _PRODUCTS:
            yield _described(cls.supported_args_type, _dense(a), _dense(b), out, accumulator)
        swizzles = (operators.ScaleSwizzleMode.Swizzle32x4x4, operators.ScaleSwizzleMode.SwizzleNone)
        for one, swizzle, out in product(_SCALED, swizzles, _FLOATS):
            scaled = _scaled(*one, swizzle)
            yield _described(cls.supported_args_type, scaled, scaled, out, "Float32")


@EstocProvider.register
class EstocGroupedGemmOperator(_RankedOperator):
    """The kernel of a rank for products of groups of rows, whose ends are on the device."""

    supported_args_type = operators.IndexPtrGroupedGemmArguments
    designed_for_min_cc = _MINIMUM_CC
    kind = "grouped"

    @staticmethod
    def arguments_of(args: Any) -> RuntimeArguments:
        if args.offsets_along != "m":
            raise UnsupportedError(f"offsets_along: expected 'm', got {args.offsets_along!r}")
        if args.epilogue is not None:
            raise UnsupportedError("epilogue: expected None of groups, got one")
        return GroupedGemmArguments(**_product_of(args), offsets=_tensor(args.offsets.tensor))

    @classmethod
    def _every_operands(cls) -> Iterator[Any]:
        for a, b, accumulator, out in _PRODUCTS:
            yield _described(cls.supported_args_type, _dense(a), _dense(b), out, accumulator)


class _AnyOperands(GemmOperandsMetadata):
    """Operands of their dtypes, in arguments of a class."""

    def __init__(self, arguments: type, *operands: Any) -> None:
        super().__init__(*operands)
        self.arguments = arguments

    def supports(self, other: Any) -> Any:
        if not isinstance(other, self.arguments):
            return operators.Status.fail(
                f"args: expected {self.arguments.__name__}, got {type(other).__name__}"
            )
        for name in ("A", "B", "out"):
            status = getattr(self, name).supports(getattr(other, name))
            if not status:
                return operators.Status.fail(f"{name}: {status.error}")
        if self.accumulator_type != other.accumulator_type:
            return operators.Status.fail(
                f"accumulator_type: expected {self.accumulator_type.__name__}, "
                f"got {other.accumulator_type}"
            )
        return operators.Status.success()


def register(candidates: int = 8) -> None:
    """From now on, `cutlass.operators.get_operators` gives Estoc's kernels, ahead of all others.

    For arguments these are operators by rank: the first is the first kernel of `estoc.get_kernels`
    for them, without cuBLASLt's, the second the second one. Their names say the dtypes and the
    rank, so that what remembers names finds them again. Without arguments there is one for
    each rank and combination of dtypes.

    Parameters
    ----------
    candidates : int
        How many ranks there are.

    Raises
    ------
    InvalidValueError
        For less than one candidate.
    """
    global _candidates
    if candidates < 1:
        raise InvalidValueError(f"candidates: expected at least 1, got {candidates}")
    unregister()
    _candidates = candidates
    others = dict(available_providers)
    available_providers.clear()
    available_providers[_PROVIDER] = EstocProvider
    available_providers.update(others)


def unregister() -> bool:
    """Takes the provider back; whether it was there."""
    return available_providers.pop(_PROVIDER, None) is not None


def _operands(args: Any) -> tuple[Any, ...]:
    return *(_constraints(one) for one in (args.A, args.B, args.out)), args.accumulator_type


def _design(kernel: Kernel) -> Any:
    """Tile and cluster in the package's words; None of kernels that have none."""
    design = kernel.metadata.design
    tile, cluster = (getattr(design, one, None) for one in ("tile_shape", "cluster_shape"))
    if tile is None:
        return None
    mma = operators.mma
    instruction = mma.HopperWgmma if kernel.name.startswith("sm90_") else mma.MmaInstruction
    return BLASDesignMetadata(
        mma_instruction_type=instruction,
        tile_shape=tuple(tile),
        cluster_shape=(*(cluster or (1, 1)), 1, 1)[:3],
    )


def _described(arguments: type, a: Any, b: Any, out: Any, accumulator: Any) -> Any:
    numeric = _numeric(accumulator) if isinstance(accumulator, str) else accumulator
    return _AnyOperands(arguments, a, b, _dense(out) if isinstance(out, str) else out, numeric)


def _numeric(name: str) -> Any:
    import cutlass

    return getattr(cutlass, name)


def _dense(dtype: Any) -> Any:
    """Any strides and alignment: what a kernel asks of them says `supports`."""
    numeric = _numeric(dtype) if isinstance(dtype, str) else dtype
    return _AnyStrides(numeric, None, 1, 1)


class _AnyStrides(DenseTensorConstraints):
    """A tensor of a dtype."""

    def supports(self, operand: Any) -> Any:
        if getattr(operand, "dtype", None) == self.dtype:
            return operators.Status.success()
        return operators.Status.fail(
            f"dtype: expected {self.dtype.__name__}, got {getattr(operand, 'dtype', None)}"
        )


def _scaled(elements: str, scales: str, block: int, swizzle: Any) -> Any:
    return ScaledOperandConstraints(_dense(elements), _dense(scales), (1, 1, block), swizzle)


def _constraints(operand: Any) -> Any:
    if isinstance(operand, operators.ScaledOperand):
        return ScaledOperandConstraints(
            _dense(operand.quantized.dtype), _dense(operand.scale.dtype), operand.mode, operand.swizzle
        )
    return _dense(operand.dtype)


def _text(constraints: Any) -> str:
    """The dtype in a name, with what shares a scale, and swizzled scales."""
    name = _NAMES.get(constraints.dtype.__name__, "other")
    if not isinstance(constraints, ScaledOperandConstraints):
        return name
    swizzled = "" if constraints.swizzle == operators.ScaleSwizzleMode.SwizzleNone else "s"
    return f"{name}x{operators.ScaleMode.numel(tuple(constraints.mode))}{swizzled}"


def _product_of(args: Any) -> dict[str, Any]:
    """What the arguments of both kinds of products have in common."""
    return {
        "A": _operand(args.A, -2),
        "B": _operand(args.B, -1),
        "out": _tensor(args.out.tensor),
        "accumulator_type": args.accumulator_type,
        "epilogue": None if args.epilogue is None else _epilogue(args),
    }


def _operand(operand: Any, outer: int) -> Any:
    """A tensor, or one with scales; `outer` is its mode that is not summed over, -2 of A."""
    if not isinstance(operand, operators.ScaledOperand):
        return _tensor(operand.tensor)
    rows, columns = tuple(operand.mode)[-2:]
    swizzled = operand.swizzle == operators.ScaleSwizzleMode.Swizzle32x4x4
    elements = operand.quantized.tensor
    extent, depth = elements.shape[outer], elements.shape[-3 - outer]
    shape = [*elements.shape[:-2], -(-extent // rows), -(-depth // columns)]
    if swizzled:
        shape[-2:] = -(-shape[-2] // 128) * 128, -(-shape[-1] // 4) * 4
    scale = _scales(operand.scale.tensor, shape, outer)
    return ScaledTensor(
        _tensor(elements), scale, f"blockwise_{rows}x{columns}", "swizzle_32x4x4" if swizzled else None
    )


def _scales(wrapper: Any, shape: list[int], outer: int) -> Any:
    """Scales in one piece, whatever shape they are given in; those along K follow one another."""
    count = math.prod(wrapper.shape)
    if count != math.prod(shape):
        raise InvalidValueError(f"scale: expected {math.prod(shape)} elements, got {count}")
    if wrapper._runtime_tensor is not None:
        made = wrapper.runtime_tensor.reshape(shape)
        return made if outer == -2 else made.swapaxes(-1, -2)
    strides = [math.prod(shape[mode + 1 :]) for mode in range(len(shape))]
    if outer != -2:
        for modes in (shape, strides):
            modes[-2:] = modes[-1], modes[-2]
    return _describe(wrapper, shape, strides)


def _epilogue(args: Any) -> EpilogueArguments:
    """The same function, of the same tensors and numbers."""
    function, given = args.epilogue.epilogue_fn, args.epilogue.tensors
    _, outputs = trace_in_out(function)
    elements = math.prod(args.out.shape)
    for name in outputs:
        if name in given and math.prod(given[name].shape) != elements:
            raise UnsupportedError(
                f"{name}: reductions are left out, as Estoc's do not add to what is there already"
            )
    values = {
        name: _tensor(one) if hasattr(one, "_runtime_tensor") else one
        for name, one in given.items()
    }
    return EpilogueArguments(function, **values)


def _tensor(wrapper: Any) -> Any:
    """The framework's tensor, or what is known of one without data."""
    if wrapper._runtime_tensor is not None:
        return wrapper.runtime_tensor
    return _describe(wrapper, wrapper.shape, wrapper.stride)


def _describe(wrapper: Any, shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    name = _NAMES.get(wrapper.dtype.__name__)
    if name is None:
        raise UnsupportedError(f"dtype: expected one that Estoc has, got {wrapper.dtype.__name__}")
    return Tensor.describe(name, shape, strides, device="cuda", alignment=wrapper._alignment_bytes)


def _has_no_data(args: Any) -> bool:
    operand = args.A.quantized if isinstance(args.A, operators.ScaledOperand) else args.A
    return operand.tensor._runtime_tensor is None
