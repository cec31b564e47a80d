"""Expert layers of torch's tensors on a GPU: results, a graph's replays, the allocator's memory."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc  # noqa: E402

T, H, INNER, E, K = 50, 128, 64, 8, 2


def routing(seed, device="cuda"):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(-1, E + 1, (T, K), generator=generator, dtype=torch.int32)
    return ids.to(device), torch.rand(T, K, generator=generator).to(device)


def layer(dtype, device="cuda"):
    def random(*shape):
        return torch.randn(*shape, device=device) / shape[-2] ** 0.5

    x = torch.randn(T, H, device=device).to(dtype)
    weights = random(E, H, 2 * INNER).to(dtype), random(E, INNER, H).to(dtype)
    return x, *routing(0, device), *weights


def expected(x, ids, weights, gate_up, down):
    x, gate_up, down = (each.cpu().double() for each in (x, gate_up, down))
    out = torch.zeros(T, H, dtype=torch.float64)
    for token, slot in torch.cartesian_prod(torch.arange(T), torch.arange(K)).tolist():
        expert = ids[token, slot].item()
        if 0 <= expert < E:
            gate, up = (x[token] @ gate_up[expert]).chunk(2)
            inner = torch.nn.functional.silu(gate) * up
            out[token] += weights[token, slot].item() * (inner @ down[expert])
    return out


def check(out, wanted):
    bound = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}[out.dtype]
    assert (out.cpu().double() - wanted).norm() <= bound * wanted.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_results(dtype):
    given = layer(dtype)
    out = estoc.moe(*given)
    assert out.dtype == dtype and out.device == given[0].device
    check(out, expected(*given))
    planned = estoc.Moe(*given)
    check(planned(*given), expected(*given))


def test_a_graph_replays_with_other_routing():
    given = layer(torch.bfloat16)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        estoc.moe(*given)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = estoc.moe(*given)
    for seed in range(1, 4):
        for mine, other in zip(given[1:3], routing(seed)):
            mine.copy_(other)
        out.fill_(float("nan"))
        graph.replay()
        check(out, expected(*given))


def test_workspace_goes_back_to_torch():
    given = layer(torch.bfloat16)
    out = estoc.moe(*given)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    estoc.moe(*given, out=out)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before
