"""Pointwise operations behind products in graphs of Inductor, and the epilogues they can be."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

__all__ = ["Lowered", "Region", "fuse"]

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_INPUTS = (torch.float16, torch.bfloat16)
# Limits of a region, for epilogues have limits too.
_MAX_OPERATIONS = 48
_MAX_OPERANDS = 8
_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)

Value = str | float
Definition = tuple[Any, ...]


def _aten() -> tuple[dict[Any, str], dict[Any, str]]:
    """ATen's operations of one and of two values, and what epilogues call them."""
    aten = torch.ops.aten
    unary = {
        aten.relu.default: "relu", aten.sigmoid.default: "sigmoid", aten.tanh.default: "tanh",
        aten.neg.default: "-", aten.exp.default: "exp", aten.log.default: "log",
        aten.abs.default: "abs", aten.sqrt.default: "sqrt", aten.rsqrt.default: "rsqrt",
        aten.reciprocal.default: "reciprocal", aten.erf.default: "erf",
    }  # fmt: skip
    binary = {
        aten.add.Tensor: "+", aten.sub.Tensor: "-", aten.mul.Tensor: "*", aten.div.Tensor: "/",
        aten.maximum.default: "maximum", aten.minimum.default: "minimum",
        aten.clamp_min.default: "maximum", aten.clamp_max.default: "minimum",
    }  # fmt: skip
    return unary, binary


_UNARY, _BINARY = _aten()
_VIEWS = (
    torch.ops.aten.view.default,
    torch.ops.aten.reshape.default,
    torch.ops.aten._unsafe_view.default,
)
_CASTS = (torch.ops.prims.convert_element_type.default,)


class Region:
    """A product and the pointwise operations behind it. Only the last result is used elsewhere.

    Attributes
    ----------
    nodes : list of Node
        In the order of the graph; the first is the product, the last the result.
    operands : list of Node
        What the operations read besides: rows, columns and matrices of the product's extents.
    extents : list of list of int
        Of the operands as the epilogue sees them.
    program : str
        Of the epilogue, with operands x0, x1 and so on.
    """

    def __init__(self, product: fx.Node) -> None:
        self.nodes = [product]
        self.operands: list[fx.Node] = []
        self.extents: list[list[int]] = []
        self.steps: list[tuple[fx.Node, Any, Any, Any]] = []
        self.program = ""
        self.m, self.n = product.meta["val"].shape
        self._values: dict[fx.Node, Value] = {product: "accum"}
        self._definitions: dict[str, Definition] = {}
        self._operations = 0
        self._leading = [self.m]  # extents of the result at hand but that of its columns
        self.a, self.b = product.args[-2:]
        if product.target is torch.ops.aten.addmm.default:
            self._values[product] = self._addition(product)

    @property
    def result(self) -> fx.Node:
        return self.nodes[-1]

    def grow(self) -> bool:
        """Adds the operations that an epilogue can have; False if there is none."""
        found = None
        node = self.nodes[0].next
        while node.op != "root" and len(self.nodes) < _MAX_OPERATIONS:
            if any(one in self._values for one in node.all_input_nodes):
                before = len(self.operands)
                value = self._value_of(node)
                if value is None:
                    del self.operands[before:], self.extents[before:]
                else:
                    self._values[node] = value
                    self.nodes.append(node)
                    if self._operations and self._is_closed():
                        program = self._program_of(value)
                        if program is not None:
                            found = len(self.nodes), len(self.operands), program
            node = node.next
        if found is None:
            return False
        count, operands, self.program = found
        del self.nodes[count:], self.operands[operands:], self.extents[operands:]
        # A node that is erased forgets its arguments.
        self.steps = [(one, one.target, one.args, one.kwargs) for one in self.nodes]
        return True

    def _is_closed(self) -> bool:
        inside = set(self.nodes)
        result = self.result
        kept = all(set(one.users) <= inside for one in self.nodes[:-1])
        return kept and bool(result.users) and result.meta["val"].dtype in _FLOATS

    def _addition(self, product: fx.Node) -> Value:
        alpha, beta = (float(product.kwargs.get(name, 1)) for name in ("alpha", "beta"))
        bias = self._operand(product.args[0]) if beta != 0 else 0.0
        if bias is None:
            raise ValueError("a bias that is no operand")
        scaled = self._define("*", "accum", alpha) if alpha != 1 else "accum"
        if beta == 0:
            return scaled
        return self._define("+", scaled, self._define("*", bias, beta) if beta != 1 else bias)

    def _value_of(self, node: fx.Node) -> Value | None:
        """The value of a node; None where an epilogue cannot compute it."""
        if node.op != "call_function" or not self._has_extents(node):
            return None
        self._leading = list(node.meta["val"].shape[:-1])
        first = node.args[0] if node.args else None
        if node.target in _VIEWS or node.target in _CASTS:
            is_float = node.meta["val"].dtype in _FLOATS
            return self._values.get(first) if is_float else None  # type: ignore[arg-type]
        if node.target in _UNARY and len(node.args) == 1 and not node.kwargs:
            return self._operation(_UNARY[node.target], node.args)
        if node.target in _BINARY and len(node.args) == 2 and self._alpha(node) is not None:
            left, right = node.args
            if self._alpha(node) != 1:
                if not isinstance(right, (int, float)):
                    return None
                right = right * self._alpha(node)
            return self._operation(_BINARY[node.target], (left, right))
        return None

    @staticmethod
    def _alpha(node: fx.Node) -> float | None:
        given = dict(node.kwargs)
        alpha = given.pop("alpha", 1)
        return float(alpha) if not given and isinstance(alpha, (int, float)) else None

    def _operation(self, name: str, arguments: Sequence[Any]) -> Value | None:
        values = [self._argument(one) for one in arguments]
        if any(one is None for one in values):
            return None
        self._operations += 1
        return self._define(name, *values)

    def _argument(self, given: Any) -> Value | None:
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return float(given)
        if not isinstance(given, fx.Node):
            return None
        return self._values[given] if given in self._values else self._operand(given)

    def _operand(self, node: Any) -> Value | None:
        """The name of what is read besides the product."""
        value = node.meta.get("val") if isinstance(node, fx.Node) else None
        if not isinstance(value, torch.Tensor) or value.dtype not in _FLOATS:
            return None
        extents = self._extents_of(value)
        if extents is None or value.device != self.nodes[0].meta["val"].device:
            return None
        if node not in self.operands:
            if len(self.operands) == _MAX_OPERANDS:
                return None
            self.operands.append(node)
            self.extents.append(extents)
        return f"x{self.operands.index(node)}"

    def _extents_of(self, value: torch.Tensor) -> list[int] | None:
        """Those of an operand as a row, a column or a matrix of the product; None of others."""
        shape = list(value.shape)
        if not all(isinstance(one, int) for one in shape):
            return None
        columns = shape[-1] if shape else 1
        rows = math.prod(shape[:-1])
        if rows == 1 and columns == self.n:
            return [self.n]
        if shape[:-1] == self._leading and columns in (1, self.n):
            # Of more than two modes it is seen as a matrix.
            return [self.m, columns] if len(shape) == 2 or value.is_contiguous() else None
        return None

    def _has_extents(self, node: fx.Node) -> bool:
        """Whether a result is the product's matrix, perhaps with rows of several modes."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dim() < 2:
            return False
        return value.shape[-1] == self.n and math.prod(value.shape[:-1]) == self.m

    def _define(self, name: str, *values: Value | None) -> Value:
        activation = None
        if name == "*":
            activation = self._gelu(values) or self._gelu(values[::-1])
        elif name == "/":
            activation = self._silu(*values)
        made = f"t{len(self._definitions)}"
        self._definitions[made] = activation or (name, *values)
        return made

    def _gelu(self, factors: Sequence[Value | None]) -> Definition | None:
        """x / 2 (1 + erf(x sqrt(1/2))) and the form with tanh, as Inductor decomposes them."""
        half, other = factors
        x = self._other(half, "*", 0.5)
        name, inner = self._function(self._other(other, "+", 1.0))
        if x is None or inner is None:
            return None
        if name == "erf":
            return ("gelu", x) if self._other(inner, "*", _SQRT_HALF) == x else None
        cubic = self._parts(self._other(inner, "*", _SQRT_2_OVER_PI), "+")
        cube = self._parts(self._other(self._rest(cubic, x), "*", 0.044715), "*")
        square = self._parts(self._rest(cube, x), "*")
        return ("gelu_tanh", x) if name == "tanh" and square == (x, x) else None

    def _silu(self, x: Value | None, divisor: Value | None) -> Definition | None:
        """x / (1 + exp(-x)), likewise."""
        name, inner = self._function(self._other(divisor, "+", 1.0))
        negative, of = self._function(inner)
        return ("silu", x) if (name, negative, of) == ("exp", "-", x) else None

    def _function(self, value: Value | None) -> tuple[str, Value | None]:
        """The function of one value that a value is, and of what."""
        found = self._definitions.get(value)  # type: ignore[arg-type]
        return (found[0], found[1]) if found is not None and len(found) == 2 else ("", None)

    def _parts(self, value: Value | None, name: str) -> Definition:
        """The two values that a value combines."""
        found = self._definitions.get(value)  # type: ignore[arg-type]
        return found[1:] if found is not None and found[0] == name and len(found) == 3 else ()

    @staticmethod
    def _rest(parts: Definition, one: Value) -> Value | None:
        """Of two values the one that is not that one."""
        left = list(parts)
        if one not in left:
            return None
        left.remove(one)
        return left[0]  # type: ignore[no-any-return]

    def _other(self, value: Value | None, name: str, number: float) -> Value | None:
        """What is combined with that number to give the value."""
        found = self._definitions.get(value)  # type: ignore[arg-type]
        if found is None or found[0] != name or len(found) != 3:
            return None
        for one, other in (found[1:], found[2:0:-1]):
            if isinstance(one, float) and abs(one - number) < 1e-7:
                return other  # type: ignore[no-any-return]
        return None

    def _program_of(self, result: Value) -> str | None:
        """The text of the result and of all that it is made of; None where it has an erf."""
        needed: dict[str, None] = {}

        def visit(value: Value) -> None:
            if isinstance(value, str) and value in self._definitions and value not in needed:
                for one in self._definitions[value][1:]:
                    visit(one)
                needed[value] = None

        visit(result)
        if any(self._definitions[one][0] == "erf" for one in needed):
            return None
        lines = [f"{one} = {_text(self._definitions[one])}" for one in needed]
        return "; ".join([*lines, f"D = {result}"])


def _text(definition: Definition) -> str:
    name, *values = definition
    texts = [one if isinstance(one, str) else f"({one!r})" for one in values]
    if name == "-" and len(texts) == 1:
        return f"-{texts[0]}"
    return f" {name} ".join(texts) if name in "+-*/" else f"{name}({', '.join(texts)})"


def _is_product(node: fx.Node, devices: Sequence[str] | frozenset[str]) -> bool:
    if node.target not in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
        return False
    values = [one.meta.get("val") for one in (node, *node.args[-2:])]  # type: ignore[union-attr]
    if not all(isinstance(one, torch.Tensor) for one in values):
        return False
    fixed = all(isinstance(extent, int) for one in values for extent in one.shape)
    same = {one.dtype for one in values} <= set(_INPUTS) and len({one.dtype for one in values}) == 1
    return fixed and same and values[0].device.type in devices and values[0].numel() > 0


def fuse(
    graph: fx.Graph, devices: Sequence[str] | frozenset[str], lower: Callable[..., Any]
) -> int:
    """Has `lower(region, a, b, *operands)` make the code of regions; returns how many there are."""
    count = 0
    for node in [one for one in graph.nodes if _is_product(one, devices)]:
        region = _region_of(node)
        if region is not None:
            _replace(region, lower)
            count += 1
    return count


def _region_of(product: fx.Node) -> Region | None:
    try:
        region = Region(product)
    except ValueError:
        return None
    return region if region.grow() else None


def _replace(region: Region, lower: Callable[..., Any]) -> None:
    graph, result = region.result.graph, region.result
    with graph.inserting_before(result):
        inputs = region.a, region.b, *region.operands
        made = graph.call_function(_lowering(region, lower), inputs)
    made.meta.update(result.meta)
    result.replace_all_uses_with(made)
    for node in reversed(region.nodes):
        graph.erase_node(node)


def _lowering(region: Region, lower: Callable[..., Any]) -> Callable[..., Any]:
    def estoc_fused(*inputs: Any) -> Any:
        return lower(region, *inputs)

    estoc_fused._inductor_lowering_function = True  # type: ignore[attr-defined]
    return estoc_fused


class Lowered:
    """The region as Inductor makes it, and what its timings of the product were.

    Attributes
    ----------
    result : TensorBox
    timings : dict of ChoiceCaller to float
        Milliseconds, empty where Inductor had no choice.
    """

    def __init__(self, region: Region, inputs: Sequence[Any]) -> None:
        from torch._inductor.lowering import lowerings

        self.timings: dict[Any, float] = {}
        product = region.nodes[0]
        known = dict(zip((region.a, region.b, *region.operands), inputs, strict=True))
        with self._captured():
            for node, target, *given in region.steps:
                args, kwargs = fx.node.map_arg(given, known.__getitem__)
                known[node] = lowerings[target](*args, **kwargs)
                if node is product:
                    self._time(known[node])
        self.result = known[region.result]

    @contextlib.contextmanager
    def _captured(self) -> Iterator[None]:
        from torch._inductor import select_algorithm

        savers = select_algorithm.get_algorithm_selector_cache().feedback_saver_fns
        savers.append(self._save)
        try:
            yield
        finally:
            savers.remove(self._save)

    def _save(self, timings: dict[Any, float], *_: Any) -> None:
        self.timings = dict(timings)

    def _time(self, product: Any) -> None:
        """Has choices timed that Inductor would time later."""
        buffer = getattr(getattr(product, "data", None), "data", None)
        if hasattr(buffer, "choice_timings"):
            buffer.choice_timings()

    def at_least(self, seconds_of_rest: float) -> float:
        """A lower bound of the region's milliseconds: a template may fuse the operations at no cost."""
        from torch._inductor.select_algorithm import ExternKernelCaller

        rest = 1e3 * seconds_of_rest
        times = [
            taken + (rest if isinstance(one, ExternKernelCaller) else 0)
            for one, taken in self.timings.items()
        ]
        return min(times, default=0)
