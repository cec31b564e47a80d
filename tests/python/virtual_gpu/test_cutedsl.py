"""Tensors of CuTe DSL in the memory of a virtual GPU. Needs nvidia-cutlass-dsl."""

import numpy as np
import pytest

import estoc

runtime = pytest.importorskip("cutlass.cute.runtime", reason="nvidia-cutlass-dsl is not installed")


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_operands(product, dtype):
    a, b, out, wanted = product(dtype=dtype)
    tensors = [runtime.from_dlpack(estoc.Tensor(one)) for one in (a, b, out)]
    tensors[1].mark_layout_dynamic(leading_dim=1)
    assert estoc.Tensor(tensors[1]).data_ptr == b.address
    args = estoc.GemmArguments(*tensors)
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(out.get(), wanted)
