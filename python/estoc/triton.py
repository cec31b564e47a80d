"""Kernel classes of one function of Triton in several configurations.

Triton compiles the kernels; Estoc finds, ranks, checks, launches and captures them like its own. This
module imports Triton when the first of them is compiled.
"""

import ctypes
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from ._estoc import (
    GemmArguments,
    InvalidTypeError,
    InvalidValueError,
    RuntimeArguments,
    Status,
    Tensor,
    UnsupportedError,
    dtype,
)
from .cuda import CudaCode, CudaKernelClass, CudaLaunch

__all__ = ["TritonKernelClass"]

# What Triton calls the dtypes of pointers.
_POINTERS = {
    "f64": "*fp64",
    "f32": "*fp32",
    "tf32": "*fp32",
    "f16": "*fp16",
    "bf16": "*bf16",
    "e4m3": "*fp8e4nv",
    "e5m2": "*fp8e5",
    "i32": "*i32",
    "i8": "*i8",
    "u8": "*u8",
}
_OPERANDS = {"A": "mk", "B": "kn", "out": "mn"}  # the modes after the batch
_EXTENTS = "mnkl"
_MOST = 2**31 - 1


class TritonKernelClass(CudaKernelClass):
    """Base of classes of GEMM kernels that are configurations of one function of Triton.

    Attributes
    ----------
    kernel
        The function, decorated with `triton.jit`.
    parameters : mapping of str to str
        What each parameter of the function gets that is no `tl.constexpr`: `"A"`, `"B"`, `"out"`
        (the address), `"m"`, `"n"`, `"k"`, `"l"` (an extent, i32), or `"A.m"`, `"B.l"` and so on (the
        stride of that operand along that mode, in elements, i32). A stride that the layout says is 1
        is a constant. Strides that are no parameters must be those of a compact matrix, and without
        any of mode l there is no batch.
    configs : sequence
        Of triton.Config or of dicts: the constants, besides `num_warps` (4) and `num_stages` (3).
    dtypes : sequence of tuples of four dtypes
        Of A, B, the accumulator and out.
    layouts : sequence of str
        Of A, B and out, `"ttt"` for rows: which mode has stride 1. No `x` for any.
    tile : tuple of three str
        The constants that are the tile's extents along m, n and k.
    alignment : int
        Bytes that address and strides of every operand are multiples of; Triton is told.
    divisible : mapping of str to int
        Powers of two that extents are multiples of, `{"k": 16}`; Triton is told.
    """

    kernel: ClassVar[Any] = None
    parameters: ClassVar[Mapping[str, str]] = {}
    configs: ClassVar[Iterable[Any]] = ()
    dtypes: ClassVar[Iterable[tuple[Any, Any, Any, Any]]] = (("f16", "f16", "f32", "f32"),)
    layouts: ClassVar[Iterable[str]] = ("ttt",)
    tile: ClassVar[tuple[str, str, str]] = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    alignment: ClassVar[int] = 16
    divisible: ClassVar[Mapping[str, int]] = {}

    def __init__(self) -> None:
        self._configs = [_parts(config) for config in self.configs]
        _check(type(self))

    def configurations(self) -> Iterator[dict[str, Any]]:
        alignments = dict.fromkeys(("align_a", "align_b", "align_out"), self.alignment)
        for a, b, acc, out in ([dtype(one) for one in each] for each in self.dtypes):
            for layouts in self.layouts:
                for constants, warps, stages in self._configs:
                    tile = tuple(constants[name] for name in self.tile)
                    rest = {name.lower(): constants[name] for name in self._rest(constants)}
                    yield (
                        {"a": a, "b": b, "acc": acc, "out": out, "layouts": layouts}
                        | alignments
                        | {"tile": tile, "stages": stages, "warps": warps}
                        | rest
                    )

    def grid(self, config: Mapping[str, Any], args: GemmArguments) -> tuple[int, ...]:
        """The numbers of programs of a launch: one for each tile of out, (m, n, l)."""
        m, n, _, batches = args.extents
        tile_m, tile_n, _ = config["tile"]
        return (-(-m // tile_m), -(-n // tile_n), batches)

    def supports(self, config: Mapping[str, Any], args: RuntimeArguments, target: str) -> Status:
        assert isinstance(args, GemmArguments)
        extents = dict(zip(_EXTENTS, args.extents, strict=True))
        if min(extents.values()) < 1:
            return Status.fail(f"extents: expected 1 or more, got {args.extents}")
        for mode, factor in self.divisible.items():
            if extents[mode] % factor:
                return Status.fail(f"{mode}: expected a multiple of {factor}, got {extents[mode]}")
        given = set(self.parameters.values())
        if extents["l"] > 1 and not any(value.endswith(".l") for value in given):
            return Status.fail(f"l: expected 1, got {extents['l']}")
        for name, layout in zip(_OPERANDS, config["layouts"], strict=True):
            status = _supports_strides(name, layout, getattr(args, name), extents, given)
            if not status:
                return status
        return Status.success()

    def code(self, config: Mapping[str, Any], target: str) -> CudaCode:
        made = self._compiled(tuple(config.items()), target)
        return CudaCode(image=made.asm["cubin"], entries=made.metadata.name)

    def plan(
        self,
        config: Mapping[str, Any],
        args: RuntimeArguments,
        workspace: Tensor | None,
        launch: CudaLaunch,
    ) -> None:
        assert isinstance(args, GemmArguments)
        made = self._compiled(tuple(config.items()), launch.target).metadata
        units = _units(config["layouts"])
        values = [
            _value(self.parameters[name], args)
            for name in self.kernel.arg_names
            if name in self.parameters and self.parameters[name] not in units
        ]
        grid, block = self.grid(config, args), 32 * made.num_warps
        # The last two are scratch memory that Triton's own launcher would pass.
        launch.kernel(grid, block, *values, None, None, shared_bytes=made.shared)

    @functools.cache
    def _compiled(self, items: tuple[tuple[str, Any], ...], target: str) -> Any:
        """What Triton makes of a configuration; known again for the same one."""
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        config = dict(items)
        constants = self._constants(config)
        units = _units(config["layouts"])
        signature, attributes = {}, {}
        for place, name in enumerate(self.kernel.arg_names):
            source = self.parameters.get(name)
            if source is None or source in units:
                signature[name] = "constexpr"
                constants.setdefault(name, 1)
                continue
            signature[name] = _type_of(source, config)
            factor = self._divisor(source, config)
            if factor > 1:
                attributes[(place,)] = [["tt.divisibility", factor]]
        options = {"num_warps": config["warps"], "num_stages": config["stages"]}
        made = triton.compile(
            ASTSource(self.kernel, signature, constants, attributes),
            target=GPUTarget("cuda", int("".join(filter(str.isdigit, target))), 32),
            options=options,
        )
        for scratch in ("global_scratch_size", "profile_scratch_size"):
            if getattr(made.metadata, scratch, 0):
                raise UnsupportedError(f"{self.name}: expected no {scratch}, got some: not launched")
        return made

    def _rest(self, constants: Mapping[str, Any]) -> list[str]:
        """The constants that are no extents of the tile."""
        return sorted(name for name in constants if name not in self.tile)

    def _constants(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The constants of the function, by their names there."""
        rest = self._rest(self._configs[0][0])
        constants = {name: config[name.lower()] for name in rest}
        return constants | dict(zip(self.tile, config["tile"], strict=True))

    def _divisor(self, source: str, config: Mapping[str, Any]) -> int:
        """What the parameter is a multiple of: an address in bytes, other numbers as they are."""
        operand, _, mode = source.partition(".")
        if operand not in _OPERANDS:
            return self.divisible.get(source, 1)
        if not mode:
            return self.alignment
        return max(8 * self.alignment // config[operand.lower()].bits, 1)


def _parts(config: Any) -> tuple[dict[str, Any], int, int]:
    """Constants, warps and stages of a triton.Config or a dict."""
    if not isinstance(config, Mapping):
        return dict(config.kwargs), config.num_warps, config.num_stages
    constants = dict(config)
    warps, stages = constants.pop("num_warps", 4), constants.pop("num_stages", 3)
    return constants, warps, stages


def _check(made: type[TritonKernelClass]) -> None:
    """Throws where the attributes of a class do not belong together."""
    names = getattr(made.kernel, "arg_names", None)
    if names is None:
        raise InvalidTypeError(
            f"{made.__name__}.kernel: expected a function of triton.jit, got {made.kernel!r}"
        )
    known = {*_OPERANDS, *_EXTENTS}
    known |= {f"{name}.{mode}" for name, modes in _OPERANDS.items() for mode in f"l{modes}"}
    for name, source in made.parameters.items():
        if name not in names:
            raise InvalidValueError(
                f"{made.__name__}.parameters: expected some of {', '.join(names)}, got {name}"
            )
        if source not in known:
            raise InvalidValueError(
                f"{made.__name__}.parameters[{name!r}]: expected one of "
                f"{', '.join(sorted(known))}, got {source!r}"
            )
    for layouts in made.layouts:
        if len(layouts) != len(_OPERANDS) or set(layouts) - set("tn"):
            raise InvalidValueError(
                f"{made.__name__}.layouts: expected three letters t or n for A, B and out, "
                f"got {layouts!r}"
            )
    for config in made.configs:
        constants = _parts(config)[0]
        missing = set(names) - set(made.parameters) - set(constants)
        unknown = {*constants, *made.tile} - set(names)
        if missing or unknown:
            raise InvalidValueError(
                f"{made.__name__}.configs: expected a value for each of "
                f"{', '.join(name for name in names if name not in made.parameters)}, "
                f"got {', '.join(sorted(constants))}, and a tile of {', '.join(made.tile)}"
            )


def _units(layouts: str) -> set[str]:
    """The strides that the layouts say are 1."""
    return {
        f"{name}.{modes[1] if layout == 't' else modes[0]}"
        for (name, modes), layout in zip(_OPERANDS.items(), layouts, strict=True)
    }


def _type_of(source: str, config: Mapping[str, Any]) -> str:
    """What Triton calls the type of a parameter."""
    if source not in _OPERANDS:
        return "i32"
    name = config[source.lower()].name
    if name not in _POINTERS:
        raise InvalidValueError(f"{source}.dtype: expected one that Triton has, got {name}")
    return _POINTERS[name]


def _value(source: str, args: GemmArguments) -> object:
    """The value of a parameter in a launch on `args`."""
    operand, _, mode = source.partition(".")
    if operand not in _OPERANDS:
        return ctypes.c_int32(args.extents[_EXTENTS.index(source)])
    tensor = getattr(args, operand)
    return ctypes.c_int32(_stride(tensor, operand, mode)) if mode else tensor


def _stride(tensor: Tensor, operand: str, mode: str) -> int:
    """The stride along a mode, 0 along that of a batch that there is not."""
    if mode == "l":
        return tensor.strides[0] if len(tensor.shape) == 3 else 0
    return tensor.strides[_OPERANDS[operand].index(mode) - 2]


def _supports_strides(
    operand: str, layout: str, tensor: Any, extents: Mapping[str, int], given: set[str]
) -> Status:
    """Whether the function can reach the elements with 32-bit numbers and the strides it is given."""
    if not isinstance(tensor, Tensor):
        return Status.fail(f"{operand}: expected a tensor without scales, got one with")
    inner, outer = reversed(_OPERANDS[operand]) if layout == "t" else _OPERANDS[operand]
    stride = _stride(tensor, operand, outer)
    compact = extents[outer] == 1 or stride == extents[inner]
    if f"{operand}.{outer}" not in given and not compact:
        return Status.fail(
            f"{operand}.strides: expected {extents[inner]} along {outer}, got {stride}"
        )
    modes = ("l", outer, inner)
    last = sum((extents[mode] - 1) * _stride(tensor, operand, mode) for mode in modes)
    if not 0 <= last <= _MOST or max(extents.values()) > _MOST:
        return Status.fail(f"{operand}: expected fewer than 2**31 elements, got more")
    return Status.success()
