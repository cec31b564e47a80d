"""Programs in Python on two GPUs, which are the emulator's: discovery to launch, and what goes wrong."""

import os
import threading

import numpy as np
import pytest
from device_arrays import DeviceArray

import estoc


def test_devices():
    assert [device["target"] for device in estoc.cuda_devices()] == ["sm_90a", "sm_90a"]


@pytest.mark.parametrize("device", [0, 1])
def test_discovery_to_launch(product, device):
    a, b, out, wanted = product(device=device)
    args = estoc.GemmArguments(a, b, out)
    assert args.device == f"cuda:{device}"
    kernels = estoc.get_kernels(args)
    for name in ("simt_gemm", "sm80_gemm", "sm90_gemm"):
        out.put(np.full(out.shape, 77, "f4"))
        kernel = next(each for each in kernels if each.name.startswith(name))
        artifact = kernel.compile(args)
        kernel.run(args, artifact)
        np.testing.assert_array_equal(out.get(), wanted, name)


def test_check_output(product):
    a, b, out, wanted = product()
    args = estoc.GemmArguments(a, b, out)
    out.put(wanted)
    assert estoc.check_output(args)
    out.put(wanted + 1)
    result = estoc.check_output(args)
    assert not result
    assert result.worst.startswith("out[")
    with pytest.raises(ValueError, match="host memory"):
        estoc.fill_random(out)


def test_plan_on_a_stream_of_ones_own(product, driver):
    a, b, out, wanted = product()
    stream = driver.stream()
    plan = estoc.plan(a, b, out)
    plan(a, b, out, stream=stream)
    np.testing.assert_array_equal(out.get(), wanted)
    a2, b2, out2, wanted2 = product(m=30, seed=2)
    plan(a2, b2, out2, stream=stream)
    np.testing.assert_array_equal(out2.get(), wanted2)


def test_plan_again_and_again(product, driver):
    """On the same memory it is bound once; elsewhere, and on the other device, it is not."""
    first, second = product(), product(seed=2)
    plan = estoc.plan(*first[:3])
    streams = (None, driver.stream())
    for stream in (*streams, *streams):
        for a, b, out, wanted in (first, first, second, second, first):
            out.put(np.full(out.shape, 77, "f4"))
            plan(a, b, out, stream=stream)
            np.testing.assert_array_equal(out.get(), wanted)
        first[2].put(np.full(first[2].shape, 77, "f4"))
        plan(stream=stream)
        np.testing.assert_array_equal(first[2].get(), first[3])
    a, b, out, wanted = product(device=1)
    plan(a, b, out)
    np.testing.assert_array_equal(out.get(), wanted)
    a.put(2 * a.get())
    for _ in range(2):
        assert estoc.matmul(a, b, out) is out
        np.testing.assert_array_equal(out.get(), 2 * wanted)


def test_plan_of_less_aligned_tensors(product, driver):
    a, b, out, wanted = product(m=64, n=64, k=64)
    plan = estoc.plan(a, b, out)
    host = a.get()
    odd = DeviceArray(driver, np.concatenate([[0], host.ravel()]).astype("f2"))
    odd.__cuda_array_interface__ |= {"shape": host.shape, "data": (odd.address + 2, False)}
    status = plan.kernel.supports(estoc.GemmArguments(odd, b, out))
    assert not status and "A.alignment" in status.error, "this kernel shows nothing"
    for _ in range(3):
        plan(a, b, out)
        with pytest.raises(estoc.UnsupportedError, match=r"A\.alignment: expected"):
            plan(odd, b, out)
        estoc.matmul(a, b, out)
        out.put(np.full(out.shape, 77, "f4"))
        estoc.matmul(odd, b, out)
        np.testing.assert_array_equal(out.get(), wanted)


def test_lists_are_remembered_for_addresses_that_are_aligned_alike(driver):
    """Kernels that merge modes look at the address alone, which the strides do not bound."""
    memory, host = DeviceArray(driver, np.zeros(64, "f4")), np.arange(64, dtype="f4")
    memory.put(host)
    found = []
    for offset in (0, 1, 0, 2, 1):
        a = DeviceArray(driver, np.zeros((4, 3), "f4"))
        a.__cuda_array_interface__ |= {"data": (memory.address + 4 * offset, False)}
        out = DeviceArray(driver, np.zeros((4, 3), "f4"))
        args = estoc.ElementwiseArguments("neg", a, None, out)
        kernels = estoc.get_kernels(args)
        found.append(len(kernels))
        for kernel in kernels:
            kernel.run(args)
            np.testing.assert_array_equal(out.get().ravel(), -host[offset : offset + 12])
    assert found[0] > found[1], "the kernels of this shape do not look at the address"


def test_elementwise_epilogue(driver):
    values, bias = np.linspace(-3, 3, 24, dtype="f4").reshape(4, 6), np.arange(6, dtype="f4")
    a, out = DeviceArray(driver, values), DeviceArray(driver, np.zeros((4, 6), "f4"))
    epilogue = estoc.EpilogueArguments("D = relu(s * accum + bias)", s=2, bias=DeviceArray(driver, bias))
    args = estoc.ElementwiseArguments(a, out, epilogue=epilogue)
    plan = estoc.plan(args)
    assert plan.kernel.name.startswith("simt_elementwise-")
    for _ in range(2):
        out.put(np.full((4, 6), 77, "f4"))
        plan()
        np.testing.assert_allclose(out.get(), np.maximum(2 * values + bias, 0), rtol=1e-6)


def test_epilogue_with_a_sum_over_rows(product, driver):
    a, b, out, wanted = product()
    bias = np.arange(40, dtype="f4")
    sums = DeviceArray(driver, np.zeros((24, 1), "f4"))
    epilogue = estoc.EpilogueArguments(
        "D = relu(accum + bias); s = sum(D)", bias=DeviceArray(driver, bias), s=sums
    )
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    estoc.get_kernels(args, metadata_filter="class=sm90_gemm")[0].run(args)
    np.testing.assert_array_equal(out.get(), np.maximum(wanted + bias, 0))
    np.testing.assert_array_equal(sums.get(), out.get().sum(1, keepdims=True))


def test_sixteen_threads(product):
    problems = []

    def work(seed):
        try:
            a, b, out, wanted = product(m=10 + seed, device=seed % 2, seed=seed)
            args = estoc.GemmArguments(a, b, out)
            estoc.get_kernels(args, metadata_filter="class=simt_gemm")[0].run(args)
            np.testing.assert_array_equal(out.get(), wanted)
        except BaseException as error:  # pytest does not see what a thread raises
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]


def test_devices_do_not_mix(product):
    a, b, _, _ = product(device=0)
    _, _, out, _ = product(device=1)
    with pytest.raises(ValueError, match=r"cuda:[01].*cuda:[01]"):
        estoc.GemmArguments(a, b, out)


def test_memory_of_the_host_is_no_devices(product):
    a, b, out, _ = product()
    host = np.zeros(out.shape, "f4")
    out.__cuda_array_interface__["data"] = (host.ctypes.data, False)
    with pytest.raises(ValueError, match=r"out.*host pointer"):
        estoc.GemmArguments(a, b, out)


def test_an_artifact_serves_both_devices(product):
    a, b, out, wanted = product(device=0)
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    artifact = kernel.compile(args)
    others = product(device=1, seed=5)
    for left, right, where, expected in ((a, b, out, wanted), others):
        kernel.run(estoc.GemmArguments(left, right, where), artifact)
        np.testing.assert_array_equal(where.get(), expected)


def test_a_forked_child_is_refused(product):
    a, b, out, _ = product()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    plan = estoc.plan(a, b, out)
    calls = (lambda: kernel.run(args), plan, lambda: plan(a, b, out), lambda: estoc.matmul(a, b, out))
    for call in (*calls, *calls, *calls):
        call()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        words = []
        for call in calls:
            try:
                call()
                words.append("it ran")
            except estoc.Error as error:
                words.append(str(error))
        os.write(writing, "\n".join(words).encode())
        os._exit(0)
    os.waitpid(child, 0)
    words = os.read(reading, 4096).decode().splitlines()
    assert len(words) == len(calls)
    assert all("forked" in word for word in words), words


def test_a_kernel_that_writes_elsewhere_is_named(product):
    """The last test: the context of the device stays broken."""

    @estoc.register
    class Wild(estoc.CudaKernelClass):
        name = "wild_gemm"

        def configurations(self):
            yield {"a": "f16", "b": "f16", "acc": "f32", "out": "f32"}

        def code(self, config, target):
            return estoc.CudaCode(
                """
                #include <estoc/ptx/memory.cuh>
                extern "C" __global__ void estoc_kernel(estoc::u64 out) {
                  estoc::ptx::st_global<1>(out + (1ULL << 40), estoc::Words<1>{{1}});
                }
                """
            )

        def plan(self, config, args, workspace, launch):
            launch.kernel(1, 1, args.out)

    try:
        a, b, out, _ = product(device=1)
        args = estoc.GemmArguments(a, b, out)
        kernel = estoc.get_kernels(args, metadata_filter="class=wild_gemm")[0]
        with pytest.raises(estoc.Error, match="(?s)CUDA_ERROR_ILLEGAL_ADDRESS.*ran earlier"):
            kernel.run(args)
            kernel.run(args)
    finally:
        estoc.unregister(Wild)
