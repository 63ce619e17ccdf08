# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Changes to the code library of a kernel: its IR gets names by content, and unused PTX is not compiled."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable

from numba.cuda.codegen import CUDACodeLibrary
from numba.cuda.core import config
from numba.cuda.dispatcher import _Kernel, reshape_funcs

from .._plugin.switch import Patches
from .._plugin.report import Report
from ._names import renamed

# The constructor links more code if the PTX has one of these names. It is enough to look for them in the IR.
_LOOKED_FOR = (*reshape_funcs, "NRT_")
_constructing = threading.local()


def attach(patches: Patches, report: Report) -> None:
    """Changes the package's classes of kernels and of code libraries."""
    patches.replace(CUDACodeLibrary, "llvm_strs", property(_llvm_strs))
    patches.replace(CUDACodeLibrary, "get_asm_str", _assembly(CUDACodeLibrary.get_asm_str, report))
    patches.replace(_Kernel, "__init__", _constructor(_Kernel.__init__))


def _llvm_strs(library: Any) -> list[str]:
    """Returns the texts of a library's modules. The texts of a kernel's modules have names by content."""
    if library._llvm_strs is None:
        texts = [str(module) for module in library.modules]
        found = None if library._entry_name is None or "g" in library._nvvm_options else renamed(texts)
        if found is not None:
            texts = found.texts
            library._entry_name = found.name(library._entry_name)
        library._llvm_strs = texts
    texts = library._llvm_strs
    return list(texts)


def _constructor(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __init__(kernel: Any, *args: Any, **kwargs: Any) -> None:
        outer = getattr(_constructing, "now", False)
        _constructing.now = True
        try:
            original(kernel, *args, **kwargs)
        finally:
            _constructing.now = outer

    return __init__


def _assembly(original: Callable[..., Any], report: Report) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_asm_str(library: Any, cc: Any = None) -> str:
        if getattr(_constructing, "now", False) and library._lto and not config.DUMP_ASSEMBLY:
            if not any(name in text for text in library.llvm_strs for name in _LOOKED_FOR):
                report.count("ptx_left_out")
                return ""
        assembly: str = original(library, cc=cc)
        return assembly

    return get_asm_str
