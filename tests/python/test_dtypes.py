"""Dtypes by estoc.dtype: names, equality with those of other projects, refusals."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import estoc


def test_there_are_all():
    assert [one.name for one in estoc.dtypes] == (
        "f64 f32 tf32 f16 bf16 e4m3 e5m2 e8m0 e2m1 i32 i8 u8 i4 u4 bool".split()
    )
    assert [one.bits for one in estoc.dtypes] == [64, 32, 32, 16, 16, 8, 8, 8, 4, 32, 8, 8, 4, 4, 8]


@pytest.mark.parametrize("one", estoc.dtypes)
def test_one_object_for_each(one):
    assert estoc.dtype(one.name) is one
    assert estoc.dtype(one) is one
    assert pickle.loads(pickle.dumps(one)) is one
    assert copy.deepcopy(one) is one
    assert hash(one) == hash(one.name)
    assert {one: 1}[one.name] == 1
    assert eval(repr(one), {"estoc": estoc}) is one


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("float32", "f32"),
        ("torch.float16", "f16"),
        ("Float8E4M3FN", "e4m3"),
        ("float8_e5m2", "e5m2"),
        ("torch.float4_e2m1fn_x2", "e2m1"),
        (np.float64, "f64"),
        (np.dtype("i4"), "i32"),
        (ml_dtypes.float4_e2m1fn, "e2m1"),
        (np.bool_, "bool"),
        (np.dtype(ml_dtypes.bfloat16), "bf16"),
    ],
)
def test_other_names(given, name):
    assert estoc.dtype(given).name == name
    assert estoc.dtype(name) == given


@pytest.mark.parametrize("one", estoc.dtypes)
def test_the_name_in_numpy(one):
    assert estoc.dtype(one.numpy_name) is one
    assert estoc.dtype(f"torch.{one.numpy_name}") is one


@pytest.mark.parametrize("given", ["f31", "", "f", "float", float, None, 3, np.int64, object(), int, "complex64"])
def test_what_is_no_dtype(given):
    with pytest.raises(TypeError, match="dtype: expected a dtype such as"):
        estoc.dtype(given)
    assert estoc.f32 != given


def test_classes_of_other_projects():
    class BFloat16:
        pass

    assert estoc.dtype(BFloat16) is estoc.bf16
    assert estoc.bf16 != estoc.f16
