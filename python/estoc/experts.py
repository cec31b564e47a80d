"""The expert layer of a mixture of experts: moe, the layer in one call, and Moe, planned once."""

from __future__ import annotations

import warnings

from ._estoc import _moe, _PlannedMoe
from .planning import _as_tensor, _made, _records_gradients

__all__ = ["Moe", "moe"]


def moe(
    x: object,
    expert_ids: object,
    weights: object,
    w_gate_up: object,
    w_down: object,
    *,
    out: object = None,
    activation: str = "swiglu",
    interleaved: bool = False,
    workspace: object = None,
    stream: object = None,
) -> object:
    """The expert layer, from the ids and weights that a router gives to the layer's output.

    out[t] = sum over j of weights[t, j] * (f(x[t] @ w_gate_up[e]) @ w_down[e]), in the order of j,
    where e = expert_ids[t, j]. No gradient is recorded. Plans are remembered.

    Parameters
    ----------
    x : tensor of shape (T, H), dtype f32, f16 or bf16
        The tokens, contiguous along H.
    expert_ids : tensor of shape (T, K), dtype i32
        On the operands' device, where they stay. An id that no expert has adds nothing.
    weights : tensor of shape (T, K), dtype f32
    w_gate_up : tensor of shape (E, H, 2 I), dtype of `x`
        (E, H, I) of an activation without a gate. Any strides.
    w_down : tensor of shape (E, I, H), dtype of `x`
        Any strides.
    out : tensor of shape (T, H), dtype of `x`, optional
        May be `x`. Left out, made by the framework of `x` (NumPy, torch, CuPy).
    activation : str
        "swiglu", silu(gate) * up; "geglu", gelu(gate) * up; or, without a gate, "relu", "gelu" or
        "silu".
    interleaved : bool
        Columns 2 i and 2 i + 1 of `w_gate_up` are gate and up of feature i; else columns i and
        I + i.
    workspace : tensor, optional
        Scratch memory of Moe.workspace_size bytes, aligned to 256. Left out, of the framework's
        allocator (torch, CuPy) or the library's.
    stream : optional
        As of Kernel.run.

    Returns
    -------
    tensor
        `out`.

    Raises
    ------
    ValueError, TypeError
        Shapes, strides, dtypes or devices that do not fit; the message names the operand.
    UnsupportedError
        When no kernel supports a product, with the reasons.
    """
    if out is None:
        out = _empty(x, stream)
    tensors = (x, expert_ids, weights, w_gate_up, w_down, out)
    if _moe(*tensors, activation, interleaved, workspace, stream):
        _warn_of_gradients(x, weights, w_gate_up, w_down)
    return out


class Moe:
    """An expert layer that is planned once, for tensors that differ in their addresses alone.

    Parameters
    ----------
    x, expert_ids, weights, w_gate_up, w_down, out, activation, interleaved
        As of moe. None is kept. `out` tells the strides of the results; left out, rows are
        contiguous.

    Raises
    ------
    ValueError, TypeError, UnsupportedError
        As of moe.
    """

    def __init__(
        self,
        x: object,
        expert_ids: object,
        weights: object,
        w_gate_up: object,
        w_down: object,
        *,
        out: object = None,
        activation: str = "swiglu",
        interleaved: bool = False,
    ) -> None:
        if out is None:
            out = _empty(x, None)
        self._planned = _PlannedMoe(
            x, expert_ids, weights, w_gate_up, w_down, out, activation, interleaved
        )
        self._what = f"{activation}{', interleaved' if interleaved else ''}"

    def __call__(
        self,
        x: object,
        expert_ids: object,
        weights: object,
        w_gate_up: object,
        w_down: object,
        *,
        out: object = None,
        workspace: object = None,
        stream: object = None,
    ) -> object:
        """Computes the layer; parameters and result are those of moe."""
        if out is None:
            out = _empty(x, stream)
        self._planned.run(x, expert_ids, weights, w_gate_up, w_down, out, workspace, stream)
        return out

    @property
    def workspace_size(self) -> int:
        """Bytes of workspace that a call needs."""
        return self._planned.workspace_size

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the products' kernels; none where nothing is multiplied."""
        names = (self._planned.first_kernel, self._planned.second_kernel)
        return tuple(name for name in names if name is not None)

    def __repr__(self) -> str:
        return f"<Moe of {self._what}: {', '.join(self.kernels) or 'no products'}>"


def _empty(x: object, stream: object) -> object:
    """A new tensor for the result, made by the framework of `x` for work on `stream`."""
    tokens = _as_tensor(x)
    return _made(x, tokens, tokens.shape, str(tokens.dtype), stream)


def _warn_of_gradients(*operands: object) -> None:
    """Warns where torch would record what moe does, the first time that it does that."""
    tensors = map(_as_tensor, operands)
    if any(_records_gradients(tensor) for tensor in tensors):
        warnings.warn(
            "estoc.moe records no gradient, and an operand requires one: call it within "
            "torch.no_grad(), or define a torch.autograd.Function",
            RuntimeWarning,
            stacklevel=3,
        )
