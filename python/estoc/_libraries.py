"""Tells the library where this Python keeps NVIDIA's packages."""

import os
import sys

from ._estoc import _set_package_folders

__all__: "list[str]" = []

_set_package_folders(
    [folder for folder in sys.path if folder and os.path.isdir(os.path.join(folder, "nvidia"))]
)
