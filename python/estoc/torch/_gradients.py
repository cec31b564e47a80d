"""Derivatives of epilogue programs, as operations of torch that compile like any other."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._estoc import UnsupportedError

__all__ = ["Program"]

_ATEN = torch.ops.aten

# Value, and the gradients of the inputs from that of the value.
_Backward = Callable[[Tensor], "tuple[Tensor | None, ...]"]
_Rule = Callable[..., "tuple[Tensor, _Backward]"]


def _relu(x: Tensor) -> tuple[Tensor, _Backward]:
    y = x.relu()
    return y, lambda g: (g * (y > 0),)


def _gelu(kind: str) -> _Rule:
    def rule(x: Tensor) -> tuple[Tensor, _Backward]:
        y = _ATEN.gelu(x, approximate=kind)
        return y, lambda g: (_ATEN.gelu_backward(g, x, approximate=kind),)

    return rule


def _silu(x: Tensor) -> tuple[Tensor, _Backward]:
    s = x.sigmoid()
    return x * s, lambda g: (g * (s + x * s * (1 - s)),)


def _sigmoid(x: Tensor) -> tuple[Tensor, _Backward]:
    y = x.sigmoid()
    return y, lambda g: (g * y * (1 - y),)


def _tanh(x: Tensor) -> tuple[Tensor, _Backward]:
    y = x.tanh()
    return y, lambda g: (g * (1 - y * y),)


def _leaky_relu(x: Tensor, slope: Tensor | float = 0.01) -> tuple[Tensor, _Backward]:
    rising = x > 0
    return torch.where(rising, x, x * slope), lambda g: (torch.where(rising, g, g * slope), None)


def _softplus(x: Tensor) -> tuple[Tensor, _Backward]:
    return torch.nn.functional.softplus(x), lambda g: (g * x.sigmoid(),)


def _exp(x: Tensor) -> tuple[Tensor, _Backward]:
    y = x.exp()
    return y, lambda g: (g * y,)


def _log(x: Tensor) -> tuple[Tensor, _Backward]:
    return x.log(), lambda g: (g / x,)


def _sqrt(x: Tensor) -> tuple[Tensor, _Backward]:
    y = x.sqrt()
    return y, lambda g: (g / (2 * y),)


def _abs(x: Tensor) -> tuple[Tensor, _Backward]:
    return x.abs(), lambda g: (g * x.sign(),)


def _add(x: Tensor, y: Tensor) -> tuple[Tensor, _Backward]:
    return x + y, lambda g: (g, g)


def _subtract(x: Tensor, y: Tensor) -> tuple[Tensor, _Backward]:
    return x - y, lambda g: (g, -g)


def _multiply(x: Tensor, y: Tensor) -> tuple[Tensor, _Backward]:
    return x * y, lambda g: (g * y, g * x)


def _divide(x: Tensor, y: Tensor) -> tuple[Tensor, _Backward]:
    return x / y, lambda g: (g / y, -g * x / (y * y))


def _negate(x: Tensor) -> tuple[Tensor, _Backward]:
    return -x, lambda g: (-g,)


def _extreme(larger: bool) -> _Rule:
    def rule(x: Tensor, y: Tensor) -> tuple[Tensor, _Backward]:
        first = x >= y if larger else x <= y
        return torch.where(first, x, y), lambda g: (g * first, g * ~first)

    return rule


def _clamp(x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, _Backward]:
    inside = (x >= low) & (x <= high)
    return torch.minimum(torch.maximum(x, low), high), lambda g: (g * inside, None, None)


def _identity(x: Tensor) -> tuple[Tensor, _Backward]:
    return x, lambda g: (g,)


_RULES: dict[str, _Rule] = {
    "relu": _relu,
    "gelu": _gelu("none"),
    "gelu_tanh": _gelu("tanh"),
    "silu": _silu,
    "swish": _silu,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "leaky_relu": _leaky_relu,
    "softplus": _softplus,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "abs": _abs,
    "identity": _identity,
    "maximum": _extreme(True),
    "minimum": _extreme(False),
    "clamp": _clamp,
}
_OPERATORS: dict[type, _Rule] = {
    ast.Add: _add,
    ast.Sub: _subtract,
    ast.Mult: _multiply,
    ast.Div: _divide,
}
_LINEAR = (ast.Add, ast.Sub)


def _without_derivative(what: str) -> UnsupportedError:
    known = ", ".join(sorted(_RULES))
    return UnsupportedError(
        f"epilogue: expected operations that estoc.torch.linear has a derivative of (+, -, *, /, "
        f"{known}), got {what}"
    )


class _Step:
    """One operation that was carried out: where its inputs are, and its derivative."""

    def __init__(self, value: Tensor, inputs: tuple[int, ...], backward: _Backward | None) -> None:
        self.value = value
        self.inputs = inputs
        self.backward = backward


class Program:
    """An epilogue program whose one output is D; `accum` and tensors are its inputs."""

    def __init__(self, text: str) -> None:
        try:
            parsed = ast.parse(re.sub(r"\s*[;\n]\s*", "\n", text.strip()))
        except SyntaxError:
            raise _without_derivative(repr(text)) from None
        self._assignments = [self._assignment(one) for one in parsed.body]
        self._steps: list[_Step] = []
        self.needs_accumulator = any(
            not isinstance(node, (ast.expr_context, ast.Name, *_LINEAR))
            and not (isinstance(node, ast.BinOp) and isinstance(node.op, _LINEAR))
            for _, expression in self._assignments
            for node in ast.walk(expression)
        )

    def gradients(
        self, gradient: Tensor, accum: Tensor | None, known: dict[str, Tensor], wide: torch.dtype
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The gradients of the accumulator, and of each known tensor in its shape and dtype.

        `accum` may be None where the program only adds.
        """
        gradient = gradient.to(wide)
        if accum is None:
            accum = torch.zeros_like(gradient)
        self._steps = [_Step(accum, (), None)]
        places = {"accum": 0}
        for name, value in known.items():
            places[name] = self._append(value.to(wide), (), None)
        named = dict(places)
        for name, expression in self._assignments:
            named[name] = self._evaluate(expression, named)
        found = self._walk_back(named["D"], gradient)
        of_known = {
            name: found[places[name]].to(value.dtype)
            for name, value in known.items()
            if places[name] in found
        }
        return found.get(0, torch.zeros_like(gradient)), of_known

    @staticmethod
    def _assignment(statement: ast.stmt) -> tuple[str, ast.expr]:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            return statement.targets[0].id, statement.value
        raise _without_derivative(ast.unparse(statement))

    def _append(self, value: Tensor, inputs: tuple[int, ...], backward: _Backward | None) -> int:
        self._steps.append(_Step(value, inputs, backward))
        return len(self._steps) - 1

    def _apply(self, rule: _Rule, inputs: list[int]) -> int:
        value, backward = rule(*(self._steps[one].value for one in inputs))
        return self._append(value, tuple(inputs), backward)

    def _evaluate(self, node: ast.expr, named: dict[str, int]) -> int:
        if isinstance(node, ast.Name) and node.id in named:
            return named[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            like = self._steps[0].value
            return self._append(like.new_full((), float(node.value)), (), None)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            inputs = [self._evaluate(one, named) for one in (node.left, node.right)]
            return self._apply(_OPERATORS[type(node.op)], inputs)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._apply(_negate, [self._evaluate(node.operand, named)])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _RULES:
                return self._apply(
                    _RULES[node.func.id], [self._evaluate(one, named) for one in node.args]
                )
        raise _without_derivative(ast.unparse(node))

    def _walk_back(self, last: int, gradient: Tensor) -> dict[int, Any]:
        found = {last: _reduced(gradient, self._steps[last].value)}
        for place in range(last, -1, -1):
            step = self._steps[place]
            if step.backward is None or place not in found:
                continue
            for source, part in zip(step.inputs, step.backward(found[place]), strict=False):
                if part is None:
                    continue
                part = _reduced(part, self._steps[source].value)
                found[source] = found[source] + part if source in found else part
        return found


def _reduced(gradient: Tensor, like: Tensor) -> Tensor:
    """The gradient of what was broadcast: summed to its shape."""
    return gradient if gradient.shape == like.shape else gradient.sum_to_size(like.shape)
