"""Tells the library where this Python keeps NVIDIA's packages and packs of kernels."""

import os
import sys

from ._estoc import _set_package_folders

__all__: "list[str]" = []

_PACKAGES = ("nvidia", "estoc_kernels")

_set_package_folders(
    [
        folder
        for folder in sys.path
        if folder and any(os.path.isdir(os.path.join(folder, name)) for name in _PACKAGES)
    ]
)
