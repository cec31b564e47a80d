"""Host time of the Python package beside its limits: arguments, discovery, launches, import.

    PYTHONPATH=build/release/python python bench/python_host_time.py [numpy|torch] [--least] [--out FILE]

With torch and a GPU on the GPU, where the limits hold; else on the CPU, where only the figures that
launch nothing can be compared with them. Ends with 1 when a figure is over its limit on a GPU.
"""

import argparse
import json
import statistics
import subprocess
import sys
import timeit

SIZE = 64
LIMITS = {  # microseconds
    "GemmArguments(a, b, out)": 1.0,
    "kernel.supports(args)": 0.3,
    "get_kernels(args), first of a signature": 250.0,
    "get_kernels(args), again": 30.0,
    "run(args, artifact, stream) over a bare launch": 1.2,
    "plan(a, b, out) over a bare launch": 0.6,
    "plan(a2, b2, out2) over a bare launch": 1.0,
    "run of the cuda kernel over a bare launch": 1.2,
}


class Tensors:
    """Operands of one framework, and its own product."""

    def __init__(self, framework):
        self.name = framework
        self.on_gpu = False
        if framework == "torch":
            import torch

            self.on_gpu = torch.cuda.is_available()
            self.device = "cuda" if self.on_gpu else "cpu"
            self.torch = torch
            self.product = torch.mm
        else:
            import numpy

            self.numpy = numpy
            self.product = numpy.matmul

    def operands(self):
        if self.name == "torch":
            dtype = self.torch.bfloat16 if self.on_gpu else self.torch.float32
            shape = (SIZE, SIZE) if self.on_gpu else (4, 4)
            return [self.torch.ones(shape, dtype=dtype, device=self.device) for _ in range(3)]
        return [self.numpy.ones((4, 4), "f4") for _ in range(3)]

    def new_result(self):
        """The framework's shortest ways to a tensor like a result of matmul, by name."""
        a = self.operands()[0]
        if self.name == "numpy":
            return {"numpy.empty": lambda: self.numpy.empty(a.shape, a.dtype)}
        ways = {"torch.empty": lambda: self.torch.empty(a.shape, dtype=a.dtype, device=a.device)}
        guards = getattr(getattr(self.torch._C, "_dynamo", None), "guards", None)
        shortest = getattr(guards, f"_empty_strided_{self.device}", None)
        if shortest is not None:
            shape, strides = tuple(a.shape), tuple(a.stride())
            ways[f"torch's _empty_strided_{self.device}"] = lambda: shortest(
                shape, strides, a.dtype
            )
        return ways

    def finish(self):
        if self.on_gpu:
            self.torch.cuda.synchronize()

    def stream(self):
        return self.torch.cuda.current_stream() if self.on_gpu else None

    def describe(self):
        if self.name == "numpy":
            return f"numpy {self.numpy.__version__} on the CPU"
        where = self.torch.cuda.get_device_name() if self.on_gpu else "the CPU"
        return f"torch {self.torch.__version__} on {where}"


typical = statistics.median  # of the series; the least where others use the machine too


def microseconds(call, finish=lambda: None, number=200, repeats=60):
    """Of short series; between them the device catches up, so that no queue fills."""
    for _ in range(3):
        call()
    series = timeit.repeat(call, setup=finish, number=number, repeat=repeats)
    return typical(series) / number * 1e6


def import_milliseconds():
    code = (
        "import time, sys, enum, typing, collections.abc\n"
        "s = time.perf_counter(); import estoc; print(time.perf_counter() - s)"
    )
    runs = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(10)]
    return min(runs) * 1e3


def first_discovery(estoc, args):
    def call():
        estoc._estoc._clear_discovery_cache()
        estoc.get_kernels(args)

    return microseconds(call, number=1, repeats=40)


def measure(tensors):
    """Microseconds by name; also those that have no limit."""
    import estoc

    a, b, out = tensors.operands()
    a2, b2, out2 = tensors.operands()
    a3, b3, out3 = tensors.operands()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    artifact = kernel.compile(args)
    bound = kernel.bind(args, artifact, threads=1)
    plan = estoc.plan(a, b, out, threads=1)
    other = [(a2, b2, out2), (a3, b3, out3)]
    stream = tensors.stream()
    run_options = {"stream": stream, "assume_supported_args": True, "threads": 1}

    def time(call, **options):
        return microseconds(call, tensors.finish, **options)

    def new_tensors():
        plan(*other[0])
        plan(*other[1])

    def bare():
        tensors.finish()
        return bound._time(200) * 1e6

    launch = typical([bare() for _ in range(60)])
    figures = {
        "kernel": kernel.name,
        "bare launch, by C++": launch,
        "GemmArguments(a, b, out)": time(lambda: estoc.GemmArguments(a, b, out)),
        "kernel.supports(args)": time(lambda: kernel.supports(args)),
        "get_kernels(args), first of a signature": first_discovery(estoc, args),
        "get_kernels(args), again": time(lambda: estoc.get_kernels(args)),
        "run(args, artifact, stream)": time(lambda: kernel.run(args, artifact, **run_options)),
        "bound()": time(lambda: bound()),
        "plan()": time(lambda: plan()),
        "plan(a, b, out)": time(lambda: plan(a, b, out)),
        "plan(a2, b2, out2)": time(new_tensors, number=100) / 2,
        "estoc.matmul(a, b)": time(lambda: estoc.matmul(a, b)),
        "estoc.matmul(a, b, out)": time(lambda: estoc.matmul(a, b, out)),
        f"{tensors.product.__name__}(a, b)": time(lambda: tensors.product(a, b)),
        f"{tensors.product.__name__}(a, b, out=out)": time(
            lambda: tensors.product(a, b, out=out)
        ),
    }
    figures |= {f"{name}, the result alone": time(way) for name, way in tensors.new_result().items()}
    tensors.finish()
    for name in (
        "run(args, artifact, stream)",
        "plan(a, b, out)",
        "plan(a2, b2, out2)",
        "estoc.matmul(a, b, out)",
    ):
        figures[f"{name} over a bare launch"] = figures[name] - launch
    if tensors.on_gpu:
        figures |= measure_cuda(estoc, args, run_options, tensors)
    return figures


def measure_cuda(estoc, args, run_options, tensors):
    """Launches of the first kernel that is no library's."""
    kernel = estoc.get_kernels(args, providers="cuda")[0]
    artifact = kernel.compile(args)
    bound = kernel.bind(args, artifact)

    def bare():
        tensors.finish()
        return bound._time(200) * 1e6

    launch = statistics.median([bare() for _ in range(60)])
    run = microseconds(lambda: kernel.run(args, artifact, **run_options), tensors.finish)
    tensors.finish()
    return {
        "cuda kernel": kernel.name,
        "bare launch of the cuda kernel": launch,
        "run of the cuda kernel over a bare launch": run - launch,
    }


def show(figures, limits):
    """Prints the table; the names of the figures that are over their limits."""
    over = []
    print(f"{'':50} {'us':>9} {'at most':>9}")
    for name, figure in figures.items():
        if isinstance(figure, str):
            print(f"{name:50} {figure}")
            continue
        limit = limits.get(name)
        verdict = ""
        if limit is not None and figure > limit:
            over.append(name)
            verdict = "  OVER"
        print(f"{name:50} {figure:9.3f} {'' if limit is None else f'{limit:9.3f}'}{verdict}")
    return over


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("framework", nargs="?", choices=("numpy", "torch"))
    parser.add_argument("--out", help="a JSON file for the figures")
    parser.add_argument("--least", action="store_true", help="the least, instead of the median")
    options = parser.parse_args()
    if options.least:
        global typical
        typical = min
    framework = options.framework
    if framework is None:
        import importlib.util

        framework = "torch" if importlib.util.find_spec("torch") else "numpy"
    tensors = Tensors(framework)
    print(tensors.describe())
    figures = measure(tensors)
    figures["import estoc"] = import_milliseconds() * 1e3
    limits = LIMITS | {
        "estoc.matmul(a, b)": figures[f"{tensors.product.__name__}(a, b)"],
        "import estoc": 60_000.0,
    }
    over = show(figures, limits)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"machine": tensors.describe(), "us": figures, "over": over}, file, indent=1)
    return 1 if over and tensors.on_gpu else 0


if __name__ == "__main__":
    sys.exit(main())
