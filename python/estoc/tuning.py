"""Finding the fastest kernel of a problem by measuring."""

from collections.abc import Callable, Iterable

from ._estoc import RuntimeArguments, TunedKernel, _tune, cuda_devices, parse_problem

__all__ = ["tune"]


def tune(
    args: RuntimeArguments | str,
    *,
    budget: float = 60.0,
    top: int = 32,
    rounds: int = 40,
    threads: int = 0,
    seed: int = 1,
    force: bool = False,
    store: bool = True,
    providers: Iterable[str] | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> TunedKernel:
    """Finds the fastest kernel by measuring, and remembers it.

    From then on `get_kernels`, `plan` and `matmul` put that kernel first for the problem, in every
    process of this machine. Operands are random; those of `args` are not touched. A problem with a
    record of this device, driver and version is not searched again. Ctrl-C is heard; nothing is
    stored then.

    Parameters
    ----------
    args : RuntimeArguments or str
        The problem, on the device of its operands. A problem text is for the first GPU, where
        there is one, else for the CPU.
    budget : float
        Seconds, compiling included.
    top : int
        Kernels that are compiled, by predicted time.
    rounds : int
        Time slices that the last kernels get.
    threads : int
        Threads that compile, and of a CPU kernel; 0: one for each core.
    seed : int
        Of the random operands.
    force : bool
        Search although there is a record.
    store : bool
        False: remember nothing.
    providers : iterable of str, optional
        Names of the providers to choose from.
    progress : function, optional
        Called with ``"compiling"``, ``"timing"`` or ``"checking"`` and the part of that which is
        done; False cancels.

    Returns
    -------
    TunedKernel

    Raises
    ------
    UnsupportedError
        When no kernel fits, with the reasons.
    CancelledError
        When `progress` returned False.
    OSError
        When the result cannot be stored.
    """
    if isinstance(args, str):
        args = parse_problem(args, "cuda" if cuda_devices() else "cpu")
    return _tune(args, budget, top, rounds, threads, seed, force, store, providers, progress)
