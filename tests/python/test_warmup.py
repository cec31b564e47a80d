"""Files of the problems that a program meets, and kernels compiled before they are needed."""

import os
import subprocess
import sys

import numpy as np
import pytest

import estoc


def ones(*shape):
    return np.ones(shape, "f4")


def test_problems_of_a_program(tmp_path):
    path = tmp_path / "problems.txt"
    with estoc.log_problems(path):
        for _ in range(3):
            estoc.matmul(ones(31, 7), ones(7, 5))
        estoc.matmul(ones(31, 7), ones(7, 6), epilogue="D = relu(accum)")
        estoc.matmul(ones(2, 3, 31, 7), ones(7, 9))
        estoc.plan(ones(31, 11), ones(11, 5), ones(31, 5))
        offsets = np.array([3, 31], "i4")
        estoc.grouped_mm(ones(31, 7), ones(2, 7, 5), offs=offsets)
    estoc.matmul(ones(31, 13), ones(13, 5))
    lines = path.read_text().splitlines()
    assert lines == [
        "gemm m=31 n=5 k=7 l=1 a=f32:t b=f32:t out=f32:t acc=f32",
        'gemm m=31 n=6 k=7 l=1 a=f32:t b=f32:t out=f32:t acc=f32 epi="D = relu(accum)"',
        "gemm m=31 n=9 k=7 l=6 a=f32:t b=f32:[0,9,1] out=f32:t acc=f32",
        "gemm m=31 n=5 k=11 l=1 a=f32:t b=f32:t out=f32:t acc=f32",
    ] + lines[4:]
    assert len(lines) == 5
    assert lines[4].startswith("grouped_gemm m=31 n=5 k=7 g=2")
    with estoc.log_problems(path):  # adds to what is there, each problem once
        estoc.plan(ones(31, 11), ones(11, 5), ones(31, 5))
        estoc.plan(ones(31, 12), ones(12, 5), ones(31, 5))
    assert len(path.read_text().splitlines()) == 6
    artifacts = estoc.warmup(f"@{path}")
    assert [one.kernel for one in artifacts][0] == estoc.get_kernels(estoc.parse_problem(lines[0]))[0]
    done = subprocess.run(
        [sys.executable, "-m", "estoc", "tune", f"@{path}", "--target", "cpu", "--budget", "10ms",
         "--rounds", "1", "--json"],
        env=os.environ | {"ESTOC_TUNED": str(tmp_path / "tuned.db")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(OSError, match="none"), estoc.log_problems(tmp_path / "none" / "x"):
        pass


def test_warmup(tmp_path):
    args = estoc.GemmArguments(ones(8, 4), ones(4, 6), ones(8, 6))
    text = "gemm m=8 n=8 k=8 a=bfloat16"
    one, other = estoc.warmup([args, text])
    assert one.kernel == estoc.get_kernels(args)[0]
    assert other.kernel == estoc.get_kernels(estoc.parse_problem(text))[0]
    (tmp_path / "p").write_text(f"# problems\n\n{text}  # the only one\n")
    (again,) = estoc.warmup(f"@{tmp_path / 'p'}")
    assert again.kernel == other.kernel
    assert estoc.warmup([]) == []
    with pytest.raises(ValueError, match="expected a list, or '@FILE', got 'gemm"):
        estoc.warmup(text)
    with pytest.raises(ValueError, match="column 6"):
        estoc.warmup(["gemm x=3"])
    with pytest.raises(estoc.NoKernelError, match="accumulator_type|A.dtype"):
        estoc.warmup(["gemm m=4 n=4 k=4 a=f16 b=f32 acc=i32"])


def test_warmup_of_a_kernel_in_python():
    class Own(estoc.Kernel):
        targets = ("cpu",)

        @staticmethod
        def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
            any_i8 = estoc.TensorAttributes(estoc.u8, None)
            operands = estoc.GemmOperandsMetadata(any_i8, any_i8, any_i8, estoc.i32)
            metadata = estoc.KernelMetadata("own_warm", Own, operands=operands)
            return [Own(metadata)] if metadata_filter(metadata) else []

        def compile(self, args, cc=None):
            return estoc.CompiledArtifact("compiled", self)

        def predict(self, args):
            return 1e-12

    estoc.register(Own)
    try:
        args = estoc.GemmArguments(*(np.ones((4, 4), "u1") for _ in range(3)), accumulator_type="i32")
        (artifact,) = estoc.warmup([args])
        assert artifact.compiled_obj == "compiled"
    finally:
        estoc.unregister(Own)
