"""Workspace of a framework's own allocator, for work on a stream."""

__all__ = ["cupy_workspace", "torch_workspace"]


def torch_workspace(out: object, size: int, stream: int) -> object:
    """Bytes on the device of a torch tensor, not used again before `stream` has passed."""
    import torch

    with torch.no_grad():
        made = torch.empty(size, dtype=torch.uint8, device=out.device)
    if stream != torch.cuda.current_stream(out.device).cuda_stream:
        made.record_stream(torch.cuda.ExternalStream(stream, device=out.device))
    return made


def cupy_workspace(out: object, size: int, stream: int) -> object:
    """Bytes on the device of a CuPy array, of the pool of `stream`."""
    import cupy

    with out.device, cupy.cuda.ExternalStream(stream):
        return cupy.empty(size, "u1")
