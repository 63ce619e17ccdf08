# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the objects that a kernel of numba-cuda reaches."""

from __future__ import annotations

from typing import Any, Optional

from numba.cuda import dispatcher, types
from numba.cuda.compiler import ExternFunction
from numba.cuda.typing.templates import ConcreteTemplate
from numba.cuda.utils import cached_file_read

from .._numba.link_files import describe_link_files
from .._numba.values import Values
from .._plugin.canonical import Description
from .._plugin.dispatchers import DispatcherForm
from .._plugin.functions import Walk

LIBRARIES = ("numba", "numba_cuda")
REFUSED_OPTIONS = {
    "debug": "it is compiled for debugging",
    "lineinfo": "it has the lines of its source",
    "extensions": "it has extensions",
}


def _capability() -> Description:
    return tuple(dispatcher.get_current_device().compute_capability)


def _extern(value: Any, walk: Walk) -> Optional[Description]:
    """Returns a function of cuda.declare_device: its name, its type and the code that defines it. None for other values."""
    template = isinstance(value, type) and issubclass(value, ConcreteTemplate)
    function = getattr(value, "key", None) if template else value
    if not isinstance(function, ExternFunction):
        return None
    from numba.cuda.descriptor import cuda_target

    versions = cuda_target.target_context._defns[function].versions
    libraries = [library for _, made in versions for library in getattr(made, "libs", ())]
    form = tuple(type(getattr(made, "fndesc", made)).__name__ for _, made in versions)
    convention = tuple(
        type(getattr(getattr(made, "fndesc", None), "call_conv", None)).__name__ for _, made in versions
    )
    signature = tuple(VALUES.describe_type(t, walk) for t in (function.sig.return_type, *function.sig.args))
    linked = [file for library in libraries for file in library._linking_files]
    files = tuple(sorted(describe_link_files(linked, cached_file_read)))
    cooperative = tuple(bool(library.use_cooperative) for library in libraries)
    return ("extern", function.name, signature, form, convention, cooperative, files)


_DISPATCHERS = DispatcherForm("numba", {**REFUSED_OPTIONS, "link": "it links other code"}, _capability)
VALUES = Values(LIBRARIES, types, dispatcher.CUDADispatcher, _DISPATCHERS, _extern)
