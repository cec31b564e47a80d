"""The result of compiling a kernel."""

from ._estoc import CompiledArtifact

__all__ = ["CompiledArtifact"]
