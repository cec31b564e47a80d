"""Host time of the Python package on the CPU provider: import, arguments, discovery, launch.

    PYTHONPATH=build/release/python python bench/python_host_time.py [numpy|torch]
"""

import subprocess
import sys
import timeit


def microseconds(call, number=20000, repeats=7):
    """The quickest of several averages."""
    return min(timeit.repeat(call, number=number, repeat=repeats)) / number * 1e6


def import_seconds():
    code = "import time; s = time.perf_counter(); import estoc; print(time.perf_counter() - s)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(10))


def operands(framework):
    if framework == "torch":
        import torch

        return torch.ones(4, 4), torch.ones(4, 4), torch.ones(4, 4), torch.mm
    import numpy as np

    return *(np.ones((4, 4), "f4") for _ in range(3)), np.matmul


def main():
    framework = sys.argv[1] if len(sys.argv) > 1 else "numpy"
    a, b, out, product = operands(framework)
    print(f"{'import estoc':42} {import_seconds() * 1e3:8.2f} ms")
    import estoc

    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    artifact = kernel.compile(args)
    bound = kernel.bind(args, artifact, threads=1)
    plan = estoc.plan(a, b, out, threads=1)
    c, d, e = operands(framework)[:3]
    run = {"threads": 1, "assume_supported_args": True}
    for name, call in {
        "GemmArguments(a, b, out)": lambda: estoc.GemmArguments(a, b, out),
        "kernel.supports(args)": lambda: kernel.supports(args),
        "get_kernels(args)": lambda: estoc.get_kernels(args),
        "kernel.run(args, artifact, threads=1)": lambda: kernel.run(args, artifact, threads=1),
        "  the same, assume_supported_args=True": lambda: kernel.run(args, artifact, **run),
        "bound()": lambda: bound(),
        "plan()": lambda: plan(),
        "plan(a, b, out)": lambda: plan(c, d, e),
        "estoc.matmul(a, b)": lambda: estoc.matmul(a, b),
        f"{product.__name__}(a, b) of {framework}": lambda: product(a, b),
        f"{product.__name__}(a, b, out=out) of {framework}": lambda: product(a, b, out=out),
    }.items():
        print(f"{name:42} {microseconds(call):8.3f} us")


if __name__ == "__main__":
    main()
