"""Whether a kernel supports arguments, and the library's errors."""

from ._estoc import (
    CancelledError,
    CompileError,
    DriverError,
    Error,
    ExistsError,
    InvalidTypeError,
    InvalidValueError,
    IoError,
    MissingMethodError,
    NoKernelError,
    NotFoundError,
    OutOfMemoryError,
    Status,
    UnsupportedError,
)

__all__ = [
    "CancelledError",
    "CompileError",
    "DriverError",
    "Error",
    "ExistsError",
    "InvalidTypeError",
    "InvalidValueError",
    "IoError",
    "MissingMethodError",
    "NoKernelError",
    "NotFoundError",
    "OutOfMemoryError",
    "Status",
    "UnsupportedError",
]
