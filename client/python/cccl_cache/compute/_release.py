# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of cuda-cccl with which the plug-in was tested."""

from __future__ import annotations

import importlib
from importlib import metadata

from .._plugin.switch import NotServed, tested_release

TESTED = ("1.2.0", "1.2.1")
TESTED_COMPILERS = ("0.5.4",)


def served_release() -> str:
    """Returns the package with its release. Raises NotServed."""
    release = tested_release("cuda-cccl", TESTED)
    try:
        metadata.version("numba-cuda-mlir")
    except metadata.PackageNotFoundError:
        pass  # without numba, operators can't be Python functions
    else:
        tested_release("numba-cuda-mlir", TESTED_COMPILERS)
    if not importlib.import_module("cuda.compute")._BINDINGS_AVAILABLE:
        raise NotServed(
            "cuda.compute can't load CUDA, for which it needs libcuda.so.1: on a machine without a driver put a link of "
            "that name to the toolkit's lib64/stubs/libcuda.so into a directory of LD_LIBRARY_PATH"
        )
    from cuda.compute._build_info import USING_V2

    if USING_V2:
        raise NotServed("the HostJIT backend can't save builds")
    return f"cuda-cccl {release}"
