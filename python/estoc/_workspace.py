"""Memory of a framework's own allocator, for work on a stream."""

__all__ = ["cupy_workspace", "torch_on_stream", "torch_workspace"]


def torch_workspace(out: object, size: int, stream: int) -> object:
    """Bytes on the device of a torch tensor, of the pool of `stream`."""
    import torch

    with torch.no_grad(), torch_on_stream(out.device, stream):
        return torch.empty(size, dtype=torch.uint8, device=out.device)


def torch_on_stream(device: object, stream: int) -> object:
    """A context in which torch allocates for `stream`: what others still use is not given to it."""
    import contextlib

    import torch

    if stream == torch.cuda.current_stream(device).cuda_stream:
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device))


def cupy_workspace(out: object, size: int, stream: int) -> object:
    """Bytes on the device of a CuPy array, of the pool of `stream`."""
    import cupy

    with out.device, cupy.cuda.ExternalStream(stream):
        return cupy.empty(size, "u1")
