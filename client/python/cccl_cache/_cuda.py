# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Which CUDA this process uses, where a build names none."""

from __future__ import annotations

import os
import sys
from ctypes import CDLL, byref, c_int, c_uint32

from . import _library

_loaded_major = _library.function("loaded_cuda_major", c_uint32)
_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvmap", "/dev/nvgpu")
_driver: int | None = None


def major() -> int:
    """The major of the CUDA libraries that this process has loaded, else that of the `cuda.bindings` that it has
    imported; 0: neither."""
    found = int(_loaded_major())
    if found:
        return found
    bindings = sys.modules.get("cuda.bindings")
    version = getattr(bindings, "__version__", "").partition(".")[0]
    return int(version) if version.isdigit() else 0


def driver_version() -> int:
    """As cuDriverGetVersion says, asked once; 0: this machine has no driver."""
    global _driver
    if _driver is None:
        _driver = _ask_driver()
    return _driver


def _ask_driver() -> int:
    # Loading libcuda costs milliseconds; without one of these there is nothing that it could drive.
    if not any(map(os.path.exists, _DEVICES)):
        return 0
    version = c_int()
    try:
        failed = CDLL("libcuda.so.1").cuDriverGetVersion(byref(version))
    except (OSError, AttributeError):
        return 0
    return 0 if failed else version.value
