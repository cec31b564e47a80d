"""Estoc's kernels among those that the max-autotune of Inductor times for products."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .. import planning, scaling
from .._estoc import (
    EpilogueArguments,
    Error,
    GemmArguments,
    GroupedGemmArguments,
    InvalidValueError,
    Kernel,
    PerformanceControls,
    ScaledTensor,
    UnsupportedError,
    __version__,
)
from .._estoc import Tensor as _Described
from .._estoc import _scaled_mm as _multiply_scaled
from .._estoc import matmul as _matmul
from .._problem_log import note
from ..manifest import get_kernels
from . import _fusion
from ._operators import dense

__all__ = ["disable_inductor", "enable_inductor", "inductor_enabled"]

_log = logging.getLogger("estoc.torch")

# ATen's functions, and which one of ours does the same.
_KINDS = {
    "mm": "mm",
    "bmm": "mm",
    "addmm": "addmm",
    "bias_addmm": "addmm",
    "baddbmm": "addmm",
    "_mm_plus_mm": "mm_plus_mm",
    "_scaled_mm": "scaled_mm",
    "_grouped_mm": "grouped_mm",
}
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)
_VERSION = __version__.replace(".", "_").replace("-", "_").replace("+", "_")

# Launches of kernels that graphs name, by name and operands; a graph has few, of fixed extents.
# None where no kernel of that name takes the operands.
_chosen: dict[tuple[Any, ...], Any] = {}
# Of plans whose operands begin elsewhere or have other strides than those that they were made for.
_OTHER_OPERANDS = (InvalidValueError, UnsupportedError)
_CONTROLS = {fast: PerformanceControls(fast_accumulation=fast) for fast in (False, True)}


class _Offer:
    """What is added to the choices of Inductor, and how that is taken back."""

    def __init__(self, devices: Sequence[str], candidates: int, epilogues: bool) -> None:
        self.devices = frozenset(devices)
        self.candidates = candidates
        on = "-".join(sorted(self.devices))
        fused = " epilogues" if epilogues else ""
        self.tag = f"[estoc {__version__} {on} {candidates}{fused}]"

    def __call__(self, choices: list[Any]) -> list[Any]:
        """The choices for one product, with Estoc's behind the others."""
        like = _choice_of_aten(choices)
        if like is None or like.layout.device.type not in self.devices:
            return choices
        return [*choices, *_choices_like(like, self.candidates)]


_offers: list[_Offer] = []  # one, or none


def enable_inductor(
    *, candidates: int = 4, devices: Sequence[str] = ("cuda",), epilogues: bool = True
) -> None:
    """From now on, max-autotune of torch.compile times Estoc's kernels beside the others.

    Where one of them is the fastest for an mm, addmm, bmm, baddbmm, the sum of two mm, a
    _grouped_mm, or a _scaled_mm with f32 scales, the graph calls it. Caches of compiled graphs are
    kept apart from those of other versions of Estoc, and from those without it; a process that is
    to use cached graphs enables this first. Graphs that are compiled already stay as they are
    (`torch.compiler.reset()` forgets them).

    Parameters
    ----------
    candidates : int
        How many kernels are timed for a product of fixed extents: the first ones of get_kernels.
        Half of them, rounded down, are Estoc's own where there are so many, as ATen calls
        cuBLASLt's too. Where extents are symbols one is, which is chosen anew for each extent.
    devices : sequence of str
        Types of devices whose products are offered: "cuda", "cpu".
    epilogues : bool
        Pointwise operations behind an mm or addmm of f16 or bf16 become an epilogue of Estoc's
        kernel, where that is faster than what Inductor's way takes at least.

    Raises
    ------
    ValueError
        For less than one candidate, or other devices.
    """
    if candidates < 1:
        raise ValueError(f"candidates: expected at least 1, got {candidates}")
    unknown = [one for one in devices if one not in ("cuda", "cpu")]
    if unknown:
        raise ValueError(f"devices: expected 'cuda' or 'cpu', got {unknown[0]!r}")
    from torch._inductor import select_algorithm

    disable_inductor()
    _extern_choices()
    offer = _Offer(devices, candidates, epilogues)
    select_algorithm.add_preprocessing_fn(offer)
    if epilogues:
        _add_pass(offer)
    torch.compiler.config.cache_key_tag += offer.tag
    _offers.append(offer)


def disable_inductor() -> None:
    """Takes back what enable_inductor did; without effect where it was not called."""
    if not _offers:
        return
    from torch._inductor import select_algorithm

    offer = _offers.pop()
    functions = select_algorithm.get_algorithm_selector_cache().preprocessing_fns
    if offer in functions:
        functions.remove(offer)
    _remove_pass()
    config = torch.compiler.config
    config.cache_key_tag = config.cache_key_tag.replace(offer.tag, "")


def inductor_enabled() -> bool:
    """Whether Inductor is offered Estoc's kernels."""
    return bool(_offers)


# What graphs call.


def _mm(a: Tensor, b: Tensor, *, out: Tensor, kernel: str | None = None) -> Tensor:
    """out = a @ b, by the kernel of that name if it is given and takes the operands."""
    return _run(a, b, out, None, {}, kernel)


def _addmm(
    bias: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    out: Tensor,
    alpha: float = 1,
    beta: float = 1,
    kernel: str | None = None,
) -> Tensor:
    """out = beta * bias + alpha * a @ b, likewise."""
    if beta != 0:
        while bias.dim() > 1 and bias.stride(0) == 0:
            bias = bias[0]
    program = _addition(alpha, beta)
    return _run(a, b, out, program, {"bias": bias} if beta != 0 else {}, kernel)


def _fused(
    a: Tensor, b: Tensor, *operands: Tensor, out: Tensor, program: str, kernel: str | None = None
) -> Tensor:
    """out = a @ b with a program of operands x0, x1 and so on as its epilogue, likewise."""
    named = {f"x{i}": one for i, one in enumerate(operands)}
    return _run(a, b, out, program, named, kernel)


def _addition(alpha: float, beta: float) -> str:
    """The program that adds beta times a bias; without one where beta is 0."""
    product = "accum" if alpha == 1 else f"{float(alpha)!r} * accum"
    if beta == 0:
        return f"D = {product}"
    return f"D = {product} + bias" if beta == 1 else f"D = {product} + {float(beta)!r} * bias"


def _epilogue(program: str | None, operands: dict[str, Any]) -> EpilogueArguments | None:
    return None if program is None else EpilogueArguments(program, **operands)


def _mm_plus_mm(a: Tensor, b: Tensor, c: Tensor, d: Tensor, *, out: Tensor) -> Tensor:
    """out = a @ b + c @ d; the first product is rounded, as that of ATen's function is."""
    first = _run(a, b, torch.empty_like(out), None, {}, None)
    return _run(c, d, out, "D = accum + bias", {"bias": first}, None)


def _scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    *,
    out: Tensor,
    use_fast_accum: bool = False,
    kernel: str | None = None,
) -> Tensor:
    """out = (a * scale_a) @ (b * scale_b) + bias, by scales of tensors, rows or blocks, likewise."""
    if out.numel() == 0:
        return out
    controls = _CONTROLS[bool(use_fast_accum)]
    if bias is not None:
        scaling.scaled_mm(a, b, scale_a, scale_b, bias=bias, out=out, performance=controls)
        return out
    mode_a = scaling._mode_by_shape(a.shape, "f32", scale_a.shape, "a")
    mode_b = scaling._mode_by_shape(b.shape, "f32", scale_b.shape, "b")
    given = (a, b, scale_a, scale_b, mode_a, mode_b, out, use_fast_accum)
    plan = _scaled_plan(*given, kernel) if kernel is not None else None
    if plan is not None:
        try:
            _multiply_scaled(*given, plan)
            return out
        except _OTHER_OPERANDS:
            pass
    if _multiply_scaled(*given, None):
        note(_scaled_arguments(*given))
    return out


def _scaled_arguments(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, mode_a: Any, mode_b: Any, out: Tensor,
    fast: bool,
) -> GemmArguments:  # fmt: skip
    left, right = ScaledTensor(a, scale_a, mode_a), ScaledTensor(b, scale_b, mode_b)
    return GemmArguments(left, right, out, performance=_CONTROLS[bool(fast)])


def _scaled_plan(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, mode_a: Any, mode_b: Any, out: Tensor,
    fast: bool, name: str,
) -> planning.Plan | None:  # fmt: skip
    """That of the kernel of that name; None where there is none that takes the operands."""
    key = (name, out.device, a.shape, b.shape, mode_a, mode_b, fast)
    if key not in _chosen:
        args = _scaled_arguments(a, b, scale_a, scale_b, mode_a, mode_b, out, fast)
        _chosen[key] = _plan_of(args, name)
    return _chosen[key]


def _grouped_mm(a: Tensor, b: Tensor, offs: Tensor | None = None, *, out: Tensor) -> Tensor:
    """Products of groups, as of estoc.grouped_mm."""
    if out.numel() != 0:
        planning.grouped_mm(dense(a), dense(b), offs=offs, out=out)
    return out


def _run(
    a: Tensor, b: Tensor, out: Tensor, program: str | None, operands: dict[str, Tensor],
    name: str | None,
) -> Tensor:  # fmt: skip
    """The product with that program as its epilogue, by the kernel of that name if there is one."""
    if out.numel() == 0:
        return out
    a, b = dense(a), dense(b)
    if name is None or not _run_planned(a, b, out, program, operands, name):
        _matmul(a, b, out, epilogue=_epilogue(program, operands))
    return out


def _run_planned(
    a: Tensor, b: Tensor, out: Tensor, program: str | None, operands: dict[str, Tensor], name: str
) -> bool:
    """Whether there is a kernel of that name that takes the operands; it has run then."""
    key = (name, program, out.device, a.shape, b.shape, *[one.shape for one in operands.values()])
    if key not in _chosen:
        _chosen[key] = _planned(a, b, out, program, operands, name)
    plan = _chosen[key]
    if plan is None:
        return False
    try:
        plan(a, b, out, **operands)
    except _OTHER_OPERANDS:
        return False
    return True


def _planned(
    a: Tensor, b: Tensor, out: Tensor, program: str | None, operands: dict[str, Tensor], name: str
) -> Callable[..., object] | None:
    args = GemmArguments(a, b, out, epilogue=_epilogue(program, operands))
    plan = _plan_of(args, name)
    kernel = _named(args, name) if plan is None else None
    if kernel is None:
        return plan
    artifact = kernel.compile(args)  # of a kernel written in Python
    return lambda a, b, out, **operands: kernel.run(
        GemmArguments(a, b, out, epilogue=_epilogue(program, operands)), artifact
    )


def _plan_of(args: GemmArguments, name: str) -> planning.Plan | None:
    """The plan of the library's kernel of that name; None where there is none."""
    kernel = _named(args, name)
    try:
        artifact = kernel.compile(args) if kernel is not None else None
        return planning.plan(args, keep=False, compiled_artifact=artifact) if artifact else None
    except InvalidValueError:  # of a kernel written in Python
        return None


def _named(args: GemmArguments, name: str) -> Kernel | None:
    return next((one for one in get_kernels(args) if one.name == name), None)


# What Inductor is offered.


def _extern_choices() -> dict[str, Any]:
    """The functions above as Inductor's choices; each is there once."""
    if not _registered:
        from torch._inductor.select_algorithm import ExternKernelCaller, ExternKernelChoice

        class Caller(ExternKernelCaller):  # type: ignore[misc]
            def benchmark(self, *args: Tensor, out: Tensor) -> float:
                taken: float = super().benchmark(*args, out=out)
                return min(taken, _replayed(self.to_callable(), args, out)) if taken else taken

        class Choice(ExternKernelChoice):  # type: ignore[misc]
            def bind(self, *args: Any, **kwargs: Any) -> Any:
                made = super().bind(*args, **kwargs)
                made.__class__ = Caller
                return made

        for function in (_mm, _addmm, _fused, _mm_plus_mm, _scaled_mm, _grouped_mm):
            name = f"estoc{function.__name__}_{_VERSION}"
            _registered[function.__name__[1:]] = Choice(function, name=name)
    return _registered


def _replayed(call: Callable[..., Any], args: Sequence[Tensor], out: Tensor) -> float:
    """Milliseconds of a call in a graph of CUDA; infinite where Inductor makes none.

    A call of its own takes the host longer than Inductor waits before it, by which short kernels
    seem slower than they are in a graph.
    """
    from torch._inductor import config
    from torch._inductor.runtime.benchmarking import benchmarker

    if not out.is_cuda or not config.triton.cudagraphs:
        return math.inf
    with torch.cuda.device(out.device):
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                call(*args, out=out)
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        taken: float = benchmarker.benchmark_gpu(graph.replay)
        torch.cuda.synchronize()
        return taken


_registered: dict[str, Any] = {}


def _choice_of_aten(choices: list[Any]) -> Any:
    """The choice that says what the product is; None where nothing can be added."""
    from torch._inductor import config
    from torch._inductor.select_algorithm import ExternKernelCaller
    from torch._inductor.virtualized import V

    tuned = config.max_autotune or config.max_autotune_gemm
    elsewhere = getattr(config, "pipeline_max_autotune_gemm", False)
    if not tuned or elsewhere or V.graph.cpp_wrapper or V.aot_compilation:
        return None
    for one in choices:
        if isinstance(one, ExternKernelCaller) and one.name in _KINDS:
            return one
    return None


def _choices_like(like: Any, candidates: int) -> list[Any]:
    """Estoc's choices for a product, none where no kernel takes it."""
    kind = _KINDS[like.name]
    try:
        if kind == "scaled_mm":
            return _scaled_choices_like(like, candidates)
        if kind == "grouped_mm":
            return _grouped_choices_like(like)
        return _plain_choices_like(like, kind, candidates)
    except Error:
        return []


def _plain_choices_like(like: Any, kind: str, candidates: int) -> list[Any]:
    nodes = like.input_nodes[:2] if kind == "mm_plus_mm" else like.input_nodes[-2:]
    operands = [*nodes, like.layout]
    dtypes = {_dtype_of(one) for one in operands}
    adds = kind == "addmm"
    factors = {key: like.kwargs.get(key, 1) for key in ("alpha", "beta")} if adds else {}
    if len(dtypes) != 1 or not dtypes <= set(_DTYPES):
        return []
    if not all(isinstance(one, (int, float)) for one in factors.values()):
        return []
    epilogue = _described_addition(like.input_nodes[0], **factors) if adds else None
    names = _kernel_names([_described(one) for one in operands], epilogue, candidates)
    if not names:
        return []
    choice = _extern_choices()[kind]
    made = [choice.bind(like.input_nodes, like.layout, **factors)]
    # Torch's switches decide what f32 is computed with, and they may change behind the graph.
    fixed = all(_is_fixed(one) for one in operands)
    if kind != "mm_plus_mm" and fixed and dtypes <= {torch.float16, torch.bfloat16}:
        for name in names[1:]:
            made.append(choice.bind(like.input_nodes, like.layout, **factors, kernel=name))
    return made


def _scaled_choices_like(like: Any, candidates: int) -> list[Any]:
    a, b, scale_a, scale_b, *bias = like.input_nodes
    scales_are_plain = {_dtype_of(scale_a), _dtype_of(scale_b)} == {torch.float32}
    operands_are_fp8 = {_dtype_of(a), _dtype_of(b)} <= set(_FP8)
    if not (scales_are_plain and operands_are_fp8 and len(bias) < 2):
        return []
    if not set(like.kwargs) <= {"out_dtype", "use_fast_accum"}:
        return []
    left, right = (
        scaling._scaled(_described(operand), _described(scale), None, None, name)
        for operand, scale, name in ((a, scale_a, "a"), (b, scale_b, "b"))
    )
    fast = bool(like.kwargs.get("use_fast_accum", False))
    controls = PerformanceControls(fast_accumulation=fast)
    kernels = get_kernels(
        GemmArguments(left, right, _described(like.layout), performance=controls)
    )
    if not kernels:
        return []
    choice = _extern_choices()["scaled_mm"]
    made = [choice.bind(like.input_nodes, like.layout, use_fast_accum=fast)]
    if not bias and all(_is_fixed(one) for one in (a, b, like.layout)):
        for name in _candidates(kernels, candidates)[1:]:
            named = {"use_fast_accum": fast, "kernel": name}
            made.append(choice.bind(like.input_nodes, like.layout, **named))
    return made


def _grouped_choices_like(like: Any) -> list[Any]:
    a, b, *offs = like.input_nodes
    dtypes = {_dtype_of(one) for one in (a, b)}
    if len(dtypes) != 1 or not dtypes <= set(_DTYPES) or not set(like.kwargs) <= {"out_dtype"}:
        return []
    left, right, out, *ends = (_described(one) for one in (a, b, like.layout, *offs))
    args = GroupedGemmArguments(left, right, out, offsets=ends[0] if ends else None)
    if not get_kernels(args):
        return []
    return [_extern_choices()["grouped_mm"].bind(like.input_nodes, like.layout)]


def _described_addition(bias: Any, alpha: float, beta: float) -> EpilogueArguments | None:
    shape, strides = (_hints(one) for one in _extents_of(bias))
    while len(shape) > 1 and strides[0] == 0:
        shape, strides = shape[1:], strides[1:]
    described = {"bias": _described_as(bias, shape, strides)} if beta != 0 else {}
    return _epilogue(_addition(alpha, beta), described)


def _kernel_names(
    operands: list[_Described], epilogue: EpilogueArguments | None, candidates: int
) -> list[str]:
    a, b, out = operands
    args = GemmArguments(a, b, out, epilogue=epilogue)
    return _candidates(get_kernels(args), candidates)


def _candidates(kernels: Sequence[Kernel], count: int) -> list[str]:
    """Names of kernels to time, in their order: the first `count // 2` of Estoc's own, and others."""
    names = [one.name for one in kernels]
    own = [one for one in names if not one.startswith("cublaslt")]
    kept = set(own[: count // 2])
    others = [one for one in names if one not in kept]
    kept.update(others[: count - len(kept)])
    return [one for one in names if one in kept]


def _described(node: Any) -> _Described:
    """An operand, or the layout of the result, with what its extents are likely to be."""
    shape, strides = (_hints(one) for one in _extents_of(node))
    return _described_as(node, shape, strides)


def _described_as(node: Any, shape: Sequence[int], strides: Sequence[int]) -> _Described:
    device = _device_of(node)
    name = device.type if device.index is None else f"{device.type}:{device.index}"
    return _Described.describe(_dtype_of(node), shape, strides, device=name, alignment=16)


def _extents_of(node: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    if hasattr(node, "get_size"):
        return node.get_size(), node.get_stride()
    return node.size, node.stride


def _dtype_of(node: Any) -> Any:
    return node.get_dtype() if hasattr(node, "get_dtype") else node.dtype


def _device_of(node: Any) -> torch.device:
    device: torch.device = node.get_device() if hasattr(node, "get_device") else node.device
    return device


def _is_fixed(node: Any) -> bool:
    """Whether no extent is a symbol."""
    return all(
        not getattr(one, "free_symbols", None) for extents in _extents_of(node) for one in extents
    )


def _hints(extents: Sequence[Any]) -> list[int]:
    from torch._inductor import config
    from torch._inductor.virtualized import V

    sizes = V.graph.sizevars
    likely: Callable[..., Any] | None = getattr(sizes, "optimization_hints", None)
    if likely is None:
        likely = lambda values: sizes.size_hints(values, fallback=config.unbacked_symint_fallback)  # noqa: E731
    return [int(one) for one in likely(extents)]


# Products with pointwise operations behind them.


def _add_pass(offer: _Offer) -> None:
    """Has the pass that is there be followed by one that looks for operations behind products."""
    from torch._inductor import config
    from torch._inductor.custom_graph_pass import CustomGraphPass

    before = config.post_grad_custom_post_pass

    class Fusion(CustomGraphPass):  # type: ignore[misc]
        replaced = before

        def __call__(self, graph: Any) -> None:
            if before is not None:
                before(graph)
            if config.max_autotune or config.max_autotune_gemm:
                _fusion.fuse(graph, offer.devices, _lower_region)

        def uuid(self) -> Any:
            if before is None:
                return offer.tag
            given = before.uuid() if isinstance(before, CustomGraphPass) else None
            return None if given is None else (offer.tag, given)

    # A list of passes, as newer versions of torch take, and a plain function are left alone.
    if before is None or isinstance(before, CustomGraphPass):
        config.post_grad_custom_post_pass = Fusion()


def _remove_pass() -> None:
    from torch._inductor import config

    current = config.post_grad_custom_post_pass
    if hasattr(current, "replaced"):
        config.post_grad_custom_post_pass = current.replaced


def _lower_region(region: _fusion.Region, *inputs: Any) -> Any:
    """A product and what is behind it: by one kernel of Estoc, or as Inductor does it."""
    from torch._inductor.lowering import lowerings

    plain = _fusion.Lowered(region, inputs)
    try:
        fastest = _fastest_fused(region, inputs)
    except Error:
        fastest = None
    least = plain.at_least(_seconds_of_rest(region))
    chosen = fastest is not None and _NOISE * fastest[1] < least
    _log.debug(
        "%(program)r behind %(m)d x %(n)d: %(fused).2f us, apart at least %(apart).2f us",
        {
            "program": region.program, "m": region.m, "n": region.n, "chosen": chosen,
            "fused": 1e3 * fastest[1] if fastest is not None else math.inf, "apart": 1e3 * least,
        },
    )  # fmt: skip
    if fastest is None or not chosen:
        return plain.result
    shape = list(region.result.meta["val"].shape)
    made = fastest[0].output_node()
    return made if len(shape) == 2 else lowerings[torch.ops.aten.view.default](made, shape)


def _fastest_fused(region: _fusion.Region, inputs: Sequence[Any]) -> tuple[Any, float] | None:
    """The fastest of Estoc's kernels for the region, and its milliseconds; None without one."""
    from torch._inductor import config, ir
    from torch._inductor.lowering import lowerings
    from torch._inductor.select_algorithm import AlgorithmSelectorCache
    from torch._inductor.virtualized import V

    elsewhere = getattr(config, "pipeline_max_autotune_gemm", False)
    if elsewhere or V.graph.cpp_wrapper or V.graph.aot_mode or not _offers:
        return None
    shapes = [None, None, *region.extents]
    nodes = [
        ir.ExternKernel.realize_input(
            one if shape is None or shape == list(one.get_size())
            else lowerings[torch.ops.aten.view.default](one, shape)
        )
        for one, shape in zip(inputs, shapes, strict=True)
    ]  # fmt: skip
    value = region.result.meta["val"]
    layout = ir.FixedLayout(value.device, value.dtype, [region.m, region.n], [region.n, 1])
    described = {f"x{i}": _described(one) for i, one in enumerate(nodes[2:])}
    epilogue = _epilogue(region.program, described)
    operands = [_described(one) for one in (*nodes[:2], layout)]
    choice = _extern_choices()["fused"]
    choices = [
        choice.bind(nodes, layout, program=region.program, kernel=name)
        for name in _kernel_names(operands, epilogue, _offers[0].candidates)
    ]
    if not choices:
        return None
    timings = AlgorithmSelectorCache.benchmark_in_current_process(choices, nodes, layout, None)
    best = min(timings, key=timings.__getitem__)
    return best, timings[best]


# Two timings of one kernel differ by so much.
_NOISE = 1.01
# Seconds from one kernel of a graph to the next: an estimate by blocks on an H100.
_NEXT_KERNEL = 1e-6


def _seconds_of_rest(region: _fusion.Region) -> float:
    """What a kernel takes that reads the product and the operands, and writes the result."""
    value = region.result.meta["val"]
    if value.device.type != "cuda":
        return 0.0
    card = torch.cuda.get_device_properties(value.device)
    bytes_per_second = 2 * 1e3 * card.memory_clock_rate * card.memory_bus_width / 8
    moved = sum(
        one.numel() * one.element_size()
        for one in (node.meta["val"] for node in (region.nodes[0], region.result, *region.operands))
    )
    # What fills less than half of the L2 cache comes from there, twice as fast.
    from_cache = 2 if 2 * moved < card.L2_cache_size else 1
    seconds: float = _NEXT_KERNEL + moved / (from_cache * bytes_per_second)
    return seconds
