"""The expert layer on a device: results, and graphs that replay with other routing."""

import numpy as np
import pytest
from device_arrays import DeviceArray

import estoc

T, H, INNER, E, K = 20, 40, 24, 6, 2


def wanted(x, ids, weights, gate_up, down):
    out = np.zeros((T, H))
    for token, slot in np.ndindex(T, K):
        expert = ids[token, slot]
        if 0 <= expert < E:
            product = x[token].astype("f8") @ gate_up[expert].astype("f8")
            gate, up = product[:INNER], product[INNER:]
            inner = gate / (1 + np.exp(-gate)) * up
            out[token] += weights[token, slot] * (inner @ down[expert].astype("f8"))
    return out


def check(out, expected):
    assert np.linalg.norm(out - expected) <= 3e-3 * np.linalg.norm(expected)


def routing(seed):
    draw = np.random.default_rng(seed)
    return draw.integers(-1, E + 1, (T, K)).astype("i4"), draw.random((T, K)).astype("f4")


@pytest.fixture
def layer(driver):
    draw = np.random.default_rng(5)
    host = [
        draw.standard_normal((T, H)).astype("f2"),
        *routing(0),
        (draw.standard_normal((E, H, 2 * INNER)) / 6).astype("f2"),
        (draw.standard_normal((E, INNER, H)) / 5).astype("f2"),
    ]
    out = np.full((T, H), 77, "f2")
    return host, [DeviceArray(driver, each) for each in (*host, out)]


def test_moe_on_a_device(layer):
    host, (*device, out) = layer
    planned = estoc.Moe(*device, out=out)
    for seed in range(3):
        host[1:3] = routing(seed)
        device[1].put(host[1])
        device[2].put(host[2])
        for call in (estoc.moe, planned):
            out.put(np.full((T, H), 77, "f2"))
            assert call(*device, out=out) is out
            check(out.get(), wanted(*host))


def test_a_captured_layer_replays_with_other_routing(layer, driver):
    host, (*device, out) = layer
    stream = driver.stream()
    planned = estoc.Moe(*device, out=out)
    memory = DeviceArray(driver, np.zeros(planned.workspace_size, "u1"))
    driver.begin_capture(stream)
    planned(*device, out=out, workspace=memory, stream=stream)
    launch = driver.end_capture(stream)
    for seed in range(1, 4):
        host[1:3] = routing(seed)
        device[1].put(host[1])
        device[2].put(host[2])
        out.put(np.full((T, H), 77, "f2"))
        launch()
        check(out.get(), wanted(*host))


def test_ids_of_the_host_are_refused(layer):
    host, (*device, out) = layer
    device[1] = host[1]
    with pytest.raises(ValueError, match="expert_ids"):
        estoc.moe(*device, out=out)
