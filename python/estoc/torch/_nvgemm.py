"""Estoc's kernels behind Inductor's backend NVGEMM, which asks the CUTLASS API for kernels.

The package that is asked is cutlass_api in torch 2.11, and cutlass.operators in torch 2.15.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import torch

from .. import compat
from .._estoc import UnsupportedError, __version__
from ..compat._ranked import ranked_kernels, refusable

__all__ = ["disable_nvgemm", "enable_nvgemm", "nvgemm_enabled"]

_CACHE = "torch._inductor.codegen.nv_universal_gemm.kernel_cache"
# What that module has where Inductor asks cutlass_api, and where it asks cutlass.operators.
_OF_CUTLASS_API, _OF_OPERATORS = "get_compatible_kernels", "get_kernel_by_name_via_args"


class _Offer(Protocol):
    """What takes Estoc's kernels back from a package."""

    def withdraw(self) -> None: ...


class _ToCutlassApi:
    """What the modules of the CUTLASS API had before, and whether they were installed."""

    def __init__(self, candidates: int) -> None:
        self.kernels = ranked_kernels(candidates)
        self.was_installed = compat.installed()
        compat.install()
        api = importlib.import_module("cutlass_api")
        self.all_kernels = api.get_kernels
        self.replaced: list[tuple[Any, str, Any]] = []
        self._replace(api, "get_kernels", self.get_kernels)
        for name, function in refusable().items():
            self._replace(api.arguments, name, function)

    def get_kernels(self, *query: Any, **others: Any) -> Any:
        """Asked for all kernels of everything, the ranked ones; else as before."""
        return self.all_kernels(*query, **others) if query or others else self.kernels

    def withdraw(self) -> None:
        for module, name, before in self.replaced:
            setattr(module, name, before)
        if not self.was_installed:
            compat.uninstall()

    def _replace(self, module: Any, name: str, value: Any) -> None:
        self.replaced.append((module, name, getattr(module, name)))
        setattr(module, name, value)


class _ToOperators:
    """Estoc's provider in cutlass.operators."""

    def __init__(self, candidates: int) -> None:
        self.provider = importlib.import_module("estoc.providers.operators")
        self.provider.register(candidates)

    def withdraw(self) -> None:
        self.provider.unregister()


_offers: list[tuple[_Offer, str]] = []  # one with its tag, or none


def enable_nvgemm(*, candidates: int = 5) -> None:
    """From now on, Inductor's backend NVGEMM times Estoc's kernels.

    The backend itself is named in `torch._inductor.config.max_autotune_gemm_backends`
    ("ATEN,TRITON,NVGEMM"). It times the first kernels of `get_kernels` for mm, bmm, and grouped and
    scaled products that it takes, on GPUs. Where it asks the package `cutlass_api`, as that of torch
    2.11, this installs `estoc.compat`, whose constructors of arguments then give what no kernel
    supports instead of raising. Where it asks `cutlass.operators`, as that of torch 2.15, this
    registers `estoc.providers.operators` there, ahead of the package's own provider. Caches of
    compiled graphs are kept apart from those without it; a process that is to use them enables
    this first.

    Parameters
    ----------
    candidates : int
        How many kernels there are to time. Inductor times at most
        `config.nvgemm_max_profiling_configs` of all, 5 in torch 2.11 and 10 in 2.15.

    Raises
    ------
    ValueError
        For less than one candidate.
    UnsupportedError
        Where Inductor has no such backend, or asks another package.
    ImportError
        Where it asks `cutlass.operators`, and that is not installed.
    ExistsError
        When another cutlass_api has been imported already.
    """
    if candidates < 1:
        raise ValueError(f"candidates: expected at least 1, got {candidates}")
    cache = _kernel_cache()
    disable_nvgemm()
    asks_cutlass_api = hasattr(cache, _OF_CUTLASS_API)
    offer: _Offer = _ToCutlassApi(candidates) if asks_cutlass_api else _ToOperators(candidates)
    tag = f"[estoc nvgemm {__version__} {candidates}]"
    torch.compiler.config.cache_key_tag += tag
    _offers.append((offer, tag))
    _forget(cache)


def disable_nvgemm() -> None:
    """Takes back what enable_nvgemm did; without effect where it was not called."""
    if _offers:
        offer, tag = _offers.pop()
        offer.withdraw()
        config = torch.compiler.config
        config.cache_key_tag = config.cache_key_tag.replace(tag, "")
        _forget(_kernel_cache())


def nvgemm_enabled() -> bool:
    """Whether Inductor's NVGEMM is given Estoc's kernels."""
    return bool(_offers)


def _kernel_cache() -> Any:
    """The module in which Inductor remembers the API's kernels."""
    expected = f"expected a torch whose Inductor has it, such as 2.11 or 2.15, got {torch.__version__}"
    try:
        cache = importlib.import_module(_CACHE)
    except ImportError:
        raise UnsupportedError(f"NVGEMM: {expected}") from None
    if not hasattr(cache, _OF_CUTLASS_API) and not hasattr(cache, _OF_OPERATORS):
        raise UnsupportedError(f"NVGEMM: {expected}")
    return cache


def _forget(cache: Any) -> None:
    """Has Inductor look for the packages and their kernels again."""
    from torch._inductor import utils

    cache.clear_cache()
    for name in ("ensure_cute_available", "ensure_nv_universal_gemm_available"):
        if (remembered := getattr(utils, name, None)) is not None:
            remembered.cache_clear()
