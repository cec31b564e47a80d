"""Compiling many kernels at once."""

from collections.abc import Callable, Iterable, Sequence

from ._estoc import (
    CompiledArtifact,
    CompileError,
    Error,
    InvalidTypeError,
    InvalidValueError,
    Kernel,
    RuntimeArguments,
    _compile_batch,
    _is_native,
    cuda_devices,
    parse_problem,
)
from .manifest import get_kernels

__all__ = ["compile_all", "warmup"]

Progress = Callable[[int, int], object]


def compile_all(
    kernels: Iterable[Kernel],
    args: RuntimeArguments | None = None,
    *,
    target: str | None = None,
    threads: int = 0,
    errors: str = "raise",
    progress: Progress | bool | None = None,
    lineinfo: bool = False,
    use_caches: bool = True,
) -> list[CompiledArtifact | Error]:
    """Compiles every kernel, several at once; needs no device.

    Ctrl-C is heard: what is being compiled is finished, the rest is left, and KeyboardInterrupt
    is raised. What was finished is in the cache.

    Parameters
    ----------
    kernels : iterable of Kernel
    args : RuntimeArguments, optional
        What kernels written in Python on `estoc.Kernel` are compiled for; the others need none.
    target : str, optional
        ``"sm_90a"``. Left out, the kernel's only target, else the one of the CUDA device.
    threads : int
        0: one for each core.
    errors : str
        ``"raise"``: when all have been tried, the first error is raised, with the number of the
        others; ``"keep"``: exceptions are in their kernels' places in the result.
    progress : function or bool, optional
        Called with how many are done, and of how many; False cancels. True: a bar by tqdm, where
        it is installed. Left out: such a bar when standard error is a terminal.

    Returns
    -------
    list
        A CompiledArtifact for each kernel, in their order.

    Raises
    ------
    CompileError
        With the compiler's log.
    CancelledError
        When `progress` returned False.
    ValueError
        Where a kernel has several targets and none is named.
    """
    if errors not in ("raise", "keep"):
        raise InvalidValueError(f"errors: expected 'raise' or 'keep', got {errors!r}")
    chosen = list(kernels)
    for kernel in chosen:
        if not isinstance(kernel, Kernel):
            raise InvalidTypeError(f"kernels: expected estoc.Kernel, got {type(kernel).__name__}")
    done: list[CompiledArtifact | Error | None] = [None] * len(chosen)
    report = _Report(progress, len(chosen))
    try:
        for name, places in _by_target(chosen, target).items():
            batch = [chosen[place] for place in places]
            made = _compile_batch(batch, name, threads, lineinfo, use_caches, report.batch())
            for place, artifact in zip(places, made):
                done[place] = artifact
        for place, kernel in enumerate(chosen):
            if done[place] is None:
                done[place] = _compile_one(kernel, args)
                report.add(1)
    finally:
        report.close()
    failed = [one for one in done if isinstance(one, Error)]
    if failed and errors == "raise":
        raise _first(failed, len(chosen))
    return done


def warmup(
    problems: Iterable[RuntimeArguments | str] | str,
    *,
    threads: int = 0,
    progress: Progress | bool | None = None,
) -> list[CompiledArtifact | Error]:
    """Finds and compiles the kernel to use first for each problem, several at once.

    A later first call of `matmul`, `plan` and the like takes the code from the cache; what is left of
    it is loading the code.

    Parameters
    ----------
    problems : iterable of RuntimeArguments and problem texts, or str
        Texts are for the first GPU, where there is one, else for the CPU. ``"@FILE"`` is a file of
        texts, one a line, such as `log_problems` writes; ``#`` begins a comment.
    threads, progress
        As of compile_all.

    Returns
    -------
    list
        A CompiledArtifact for each problem.

    Raises
    ------
    NoKernelError
        For a problem that no kernel supports, with the reasons.
    CompileError, CancelledError
        As compile_all.
    OSError
        For a file that cannot be read.
    """
    if isinstance(problems, str):
        problems = _problems_of(problems)
    device = "cuda" if cuda_devices() else "cpu"
    described = [
        parse_problem(one, device=device) if isinstance(one, str) else one for one in problems
    ]
    kernels = [get_kernels(one)[0] for one in described]
    own = [place for place, kernel in enumerate(kernels) if not _is_native(kernel)]
    by_place = {place: kernels[place].compile(described[place]) for place in own}
    native = [kernel for place, kernel in enumerate(kernels) if place not in by_place]
    made = iter(compile_all(native, threads=threads, progress=progress))
    return [by_place[place] if place in by_place else next(made) for place in range(len(kernels))]


def _problems_of(name: str) -> list[str]:
    """The problems of "@FILE"."""
    if not name.startswith("@"):
        raise InvalidValueError(f"problems: expected a list, or '@FILE', got {name!r}")
    with open(name[1:], encoding="utf-8") as file:
        lines = [line.partition("#")[0].strip() for line in file]
    return [line for line in lines if line]


def _by_target(kernels: Sequence[Kernel], target: str | None) -> dict[str, list[int]]:
    """The places of the library's kernels by what they are compiled for."""
    places: dict[str, list[int]] = {}
    for place, kernel in enumerate(kernels):
        if _is_native(kernel):
            places.setdefault(target or _target_of(kernel), []).append(place)
    return places


def _target_of(kernel: Kernel) -> str:
    targets = kernel.metadata.targets
    if len(targets) == 1:
        return targets[0]
    for device in cuda_devices():
        if device["target"] in targets:
            return device["target"]
    raise InvalidValueError(
        f"target: expected one of {', '.join(targets)} for {kernel.name}, got none"
    )


def _compile_one(kernel: Kernel, args: RuntimeArguments | None) -> CompiledArtifact | Error:
    if args is None:
        raise InvalidValueError(f"args: expected arguments to compile {kernel.name} for, got none")
    try:
        return kernel.compile(args)
    except Error as error:
        return error


def _first(failed: list[Error], total: int) -> Error:
    first = failed[0]
    if len(failed) > 1 and isinstance(first, CompileError):
        first.args = (f"{first.args[0]} ({len(failed)} of {total} kernels failed)",)
    return first


class _Report:
    """Tells of progress: by the caller's function, by tqdm, or not at all."""

    def __init__(self, progress: Progress | bool | None, total: int) -> None:
        self.total = total
        self.done = 0
        self.function = progress if callable(progress) else None
        self.bar = None if callable(progress) or not _wants_bar(progress, total) else _bar(total)

    def batch(self) -> Callable[[int], bool]:
        """A function that is told how many of the next batch are done."""
        before = self.done

        def tell(done: int) -> bool:
            return self.add(before + done - self.done)

        return tell

    def add(self, count: int) -> bool:
        self.done += count
        if self.bar is not None:
            self.bar.update(count)
        return self.function is None or self.function(self.done, self.total) is not False

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _wants_bar(progress: bool | None, total: int) -> bool:
    import sys

    return progress or (progress is None and total > 1 and sys.stderr.isatty())


def _bar(total: int):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, desc="compiling", unit="kernel")
