# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of cuda-cccl whose inner workings this plug-in was tested with."""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Optional

TESTED = ("1.2.0", "1.2.1")
TESTED_COMPILERS = ("0.5.4",)


def tested_release() -> tuple[Optional[str], Optional[str]]:
    """(the installed release, None), or (None, why it is not one to change)."""
    try:
        release = metadata.version("cuda-cccl")
    except metadata.PackageNotFoundError:
        return None, "cuda-cccl is not installed"
    if release not in TESTED:
        return None, f"cuda-cccl {release} was not tested with it; {', '.join(TESTED)} were"
    try:
        compiler = metadata.version("numba-cuda-mlir")
    except metadata.PackageNotFoundError:
        compiler = TESTED_COMPILERS[0]
    if compiler not in TESTED_COMPILERS:
        return None, f"numba-cuda-mlir {compiler} was not tested with it; {', '.join(TESTED_COMPILERS)} were"
    if not importlib.import_module("cuda.compute")._BINDINGS_AVAILABLE:
        return None, "cuda.compute found no CUDA"
    from cuda.compute._build_info import USING_V2

    return (None, "the HostJIT backend can't save builds") if USING_V2 else (release, None)
