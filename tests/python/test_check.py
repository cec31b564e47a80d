"""Judging outputs, filling tensors, arguments from problem text, and tensors in files."""

import pathlib

import numpy as np
import pytest

import estoc


class TestCheckOutput:
    def test_verdict(self, gemm):
        a, b, out, wanted = gemm()
        args = estoc.GemmArguments(a, b, out)
        wrong = estoc.check_output(args)
        assert not wrong
        assert wrong.worst.startswith("out[")
        out[...] = wanted
        right = estoc.check_output(args, seed=3, threads=1)
        assert right
        assert (right.passed, right.error, right.worst) == (True, 0, "")
        assert right.rows_checked == right.rows_total == len(out)
        assert repr(right).startswith("CheckResult(passed=True, error=0.0, bound=0.0, ")

    def test_epilogue_and_elementwise(self, gemm):
        a, b, out, wanted = gemm()
        out[...] = np.maximum(wanted - 3, 0)
        assert estoc.check_output(estoc.GemmArguments(a, b, out, epilogue="D = relu(accum - 3)"))
        assert estoc.check_output(estoc.ElementwiseArguments("add", a, a, 2 * a))
        assert not estoc.check_output(estoc.ElementwiseArguments("add", a, a, 2 * a + 1))

    def test_refusals(self):
        described = estoc.parse_problem("gemm m=4 n=4 k=4 a=f32")
        with pytest.raises(ValueError, match="expected operands with data"):
            estoc.check_output(described)
        with pytest.raises(TypeError, match="args: expected arguments"):
            estoc.check_output(3)


class TestFillRandom:
    def test_seed(self):
        first, second = np.zeros((5, 7), "f4"), np.zeros((7, 5), "f4").T
        estoc.fill_random(first, 7)
        estoc.fill_random(second, seed=7)
        assert np.array_equal(first, second)
        assert -1 <= first.min() < first.max() < 1
        estoc.fill_random(second)
        assert not np.array_equal(first, second)

    def test_refusals(self):
        with pytest.raises(ValueError, match="read-only"):
            estoc.fill_random(np.broadcast_to(np.float32(1), (3, 3)))
        with pytest.raises(ValueError, match="expected a tensor with data"):
            estoc.fill_random(estoc.Tensor.describe("f32", (2, 2)))


class TestParseProblem:
    def test_there_and_back(self):
        args = estoc.parse_problem("gemm m=4 n=6 k=8 a=bf16:t b=bf16:n")
        assert isinstance(args, estoc.GemmArguments)
        assert args.extents == (4, 6, 8, 1)
        assert args.B.strides == (1, 8)
        assert not args.A.has_data
        again = estoc.parse_problem(args.problem, device="cuda:1")
        assert again.problem == args.problem
        assert (args.device, again.device) == ("cpu", "cuda:1")

    def test_epilogue(self):
        text = 'gemm m=4 n=6 k=8 a=f16 bias=f32:row alpha=0.5 epi="D = relu(alpha * accum + bias)"'
        args = estoc.parse_problem(text)
        assert args.epilogue.text == "D = relu(alpha * accum + bias)"
        assert args.epilogue.operands["alpha"] == 0.5
        assert args.epilogue.operands["bias"].shape == (6,)
        assert estoc.get_kernels(args, target="sm_90a")[0].supports(args, target="sm_90a")

    def test_scales_and_an_epilogue(self):
        text = (
            'gemm m=128 n=128 k=128 a=e4m3:t*1x128 b=e4m3:n*128x128 out=bf16 epi="D = relu(accum)"'
        )
        args = estoc.parse_problem(text)
        assert isinstance(args.A, estoc.ScaledTensor)
        assert isinstance(args.B, estoc.ScaledTensor)
        assert "e4m3:t*1x128" in args.problem
        assert "relu" in args.problem

    def test_elementwise(self):
        args = estoc.parse_problem("elementwise op=relu shape=3x5 a=f16")
        assert args.op == "relu"
        assert args.out.shape == (3, 5)

    def test_refusals(self):
        with pytest.raises(ValueError, match="column 8"):
            estoc.parse_problem("gemm m=x")
        with pytest.raises(ValueError, match="device: expected"):
            estoc.parse_problem("gemm m=1 n=1 k=1 a=f32", device="gpu")


class TestFiles:
    def test_there_and_back(self, tmp_path):
        data = np.arange(12, dtype="f4").reshape(3, 4)
        for name in ("x.npy", "x.safetensors:weight"):
            estoc.save_tensor(tmp_path / name, data.T)
            tensor = estoc.load_tensor(str(tmp_path / name))
            assert (tensor.shape, tensor.dtype) == ((4, 3), estoc.f32)
            assert np.array_equal(np.asarray(tensor), data.T)
        assert estoc.safetensors_names(tmp_path / "x.safetensors") == ["weight"]
        assert np.array_equal(np.load(tmp_path / "x.npy"), data.T)

    def test_weights_are_operands(self):
        data = pathlib.Path(__file__).parents[2] / "examples/data"
        x = estoc.load_tensor(data / "digits_images.npy")
        file = data / "digits_classifier.safetensors"
        assert "fc1.weight" in estoc.safetensors_names(file)
        weight = estoc.load_tensor(f"{file}:fc1.weight")
        n, k = weight.shape
        transposed = estoc.Tensor(weight, shape=(k, n), strides=(1, k))
        out = np.empty((x.shape[0], n), "f4")
        estoc.matmul(x, transposed, out)
        assert estoc.check_output(estoc.GemmArguments(x, transposed, out))

    def test_a_loaded_tensor_outlives_its_name(self, tmp_path):
        estoc.save_tensor(tmp_path / "x.npy", np.full(1000, 7, "f4"))
        array = np.asarray(estoc.load_tensor(tmp_path / "x.npy"))
        (tmp_path / "x.npy").unlink()
        assert (array == 7).all()
        assert not array.flags.writeable

    def test_refusals(self, tmp_path):
        with pytest.raises(LookupError, match="no.npy"):
            estoc.load_tensor(tmp_path / "no.npy")
        with pytest.raises(TypeError, match="path: expected a str or a path, got int"):
            estoc.load_tensor(3)
        estoc.save_tensor(tmp_path / "x.safetensors", np.zeros(3, "f4"))
        with pytest.raises(LookupError, match="other"):
            estoc.load_tensor(tmp_path / "x.safetensors:other")
        with pytest.raises(ValueError, match="read-only"):
            x = estoc.load_tensor(tmp_path / "x.safetensors")
            estoc.ElementwiseArguments("relu", x, None, x)
        with pytest.raises(ValueError, match="cuda"):
            gpu = estoc.Tensor.describe("f32", (2,), device="cuda")
            estoc.save_tensor(tmp_path / "y.npy", gpu)
        assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]
