"""Timing kernels against each other on a GPU."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ._estoc import (
    Kernel,
    NoKernelError,
    RuntimeArguments,
    UnsupportedError,
    _measure,
    cuda_devices,
    parse_problem,
)
from .manifest import get_kernels

__all__ = ["KernelTiming", "Measurement", "measure"]


class KernelTiming(NamedTuple):
    """The time of one launch of a kernel.

    Attributes
    ----------
    kernel, provider : str
    seconds, low, high : float
        Median and quartiles of the slices; 0 where it could not be timed.
    slices : list of float
        Seconds a launch, one for each round.
    problem : str
        Why it could not be timed; empty where it was.
    """

    kernel: str
    provider: str
    seconds: float
    low: float
    high: float
    slices: list[float]
    problem: str


class Measurement(NamedTuple):
    """What was measured of some kernels on one problem.

    Attributes
    ----------
    timings : list of KernelTiming
        In the order of the kernels given.
    noise : float or None
        How far two timings of one kernel were apart, as a part of the first. Nothing smaller is a
        difference between kernels.
    clock_mhz, watts : float
        Of the GPU meanwhile; 0 where NVML does not tell.
    """

    timings: list[KernelTiming]
    noise: float | None
    clock_mhz: float
    watts: float

    @property
    def fastest(self) -> KernelTiming:
        """The kernel of the least median.

        Raises
        ------
        NoKernelError
            When none could be timed.
        """
        timed = [one for one in self.timings if not one.problem]
        if not timed:
            raise NoKernelError("measure: no kernel could be timed")
        return min(timed, key=lambda one: one.seconds)


def measure(
    args: RuntimeArguments | str,
    kernels: Iterable[Kernel] | None = None,
    *,
    rounds: int = 20,
    sustained: bool = False,
    noise: bool = True,
    seed: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Measurement:
    """Times kernels against each other, as `estoc bench` does, without a check of their outputs.

    Operands are random, in as many copies as exceed the L2 cache; those of `args` are not touched.
    Launches are replayed from a graph, and every round visits every kernel.

    Parameters
    ----------
    args : RuntimeArguments or str
        The problem, on a GPU; a text is for the first one.
    kernels : iterable of Kernel, optional
        Left out, the first three of get_kernels.
    rounds : int
    sustained : bool
        Warm the GPU for 3 s and time long slices without a pause.
    noise : bool
        Time the fastest kernel once more, to know the noise.
    seed : int
        Of the random operands.
    progress : function, optional
        Called with the part that is done; False cancels.

    Raises
    ------
    UnsupportedError
        For operands that are on no GPU, and for kernels written in Python on estoc.Kernel.
    NoKernelError
        When no kernel is given and none supports the arguments.
    CancelledError
        When `progress` returned False.
    ValueError, MemoryError, DriverError
    """
    if isinstance(args, str):
        args = parse_problem(args, "cuda" if cuda_devices() else "cpu")
    if args.out.device == "cpu":
        raise UnsupportedError("measure: expected operands on a GPU, got them on cpu; see estoc bench")
    chosen = list(get_kernels(args)[:3]) if kernels is None else list(kernels)
    if not chosen:
        get_kernels(args)[0]  # raises, with the reasons
    timings, floor, clock, watts = _measure(args, chosen, rounds, seed, sustained, noise, progress)
    return Measurement([KernelTiming(*one) for one in timings], floor, clock, watts)
