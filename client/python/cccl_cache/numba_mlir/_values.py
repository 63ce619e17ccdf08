# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the objects that a kernel of numba-cuda-mlir reaches."""

from __future__ import annotations

from typing import Any, Optional

from numba_cuda_mlir import tools
from numba_cuda_mlir.compiler import ExternFunction
from numba_cuda_mlir.descriptor import MLIRDispatcher
from numba_cuda_mlir.numba_cuda import types
from numba_cuda_mlir.numba_cuda.utils import cached_file_read

from .._numba.link_files import describe_link_files
from .._numba.values import Values
from .._plugin.canonical import Description
from .._plugin.dispatchers import DispatcherForm
from .._plugin.functions import Walk

_REFUSED = {
    "debug": "it is compiled for debugging",
    "lineinfo": "it has the lines of its source",
    "extensions": "it has extensions",
}
# Options that the compiler sets at the first compile of a function. They name the target, which the key covers.
_TARGET = ("cc", "chip")


def _target() -> Description:
    return tuple(tools.get_gpu_compute_capability(tuple))


def _extern(value: Any, walk: Walk) -> Optional[Description]:
    """Returns a function of cuda.declare_device: its name, its type and the code that defines it. None for other values."""
    if type(value) is not ExternFunction:
        return None
    signature = (value.sig.return_type, *value.sig.args)
    described = tuple(VALUES.describe_type(each, walk) for each in signature)
    files = tuple(sorted(describe_link_files(value.link, cached_file_read)))
    return ("extern", value.name, described, value.abi, bool(value.use_cooperative), files)


KERNELS = DispatcherForm("numba_cuda_mlir", _REFUSED, named_elsewhere=_TARGET)
_FUNCTIONS = DispatcherForm("numba_cuda_mlir", {**_REFUSED, "link": "it links other code"}, _target, _TARGET)
VALUES = Values(("numba_cuda_mlir",), types, MLIRDispatcher, _FUNCTIONS, _extern)
