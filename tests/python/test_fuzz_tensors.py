"""A short run of the fuzzer of tensors."""

import fuzz_tensors
import pytest


@pytest.mark.parametrize("seed", [1, 2])
def test_hostile_tensors(seed):
    inputs = 3000
    taken = fuzz_tensors.run(inputs, seed)
    assert inputs / 20 < taken < inputs * 3 / 4, "one of the two ways is hardly ever taken"
