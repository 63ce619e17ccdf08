# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The inputs of a compile of numba-cuda-mlir besides its Python function."""

from __future__ import annotations

import functools
import os
import sys

from .._plugin.canonical import Description, Refused, digest
from .._plugin.loaded import contents, version
from .settings import describe_settings

# The packages whose files or releases are in all keys.
KNOWN_PACKAGES = ("numba_cuda_mlir", "cuda", "numpy", "builtins", "_operator", "operator", "math", "cmath", "abc")
_VARIABLES = ("NVRTC_", "NVRTCWIZ", "NVJITLINK_", "NVVM_", "NUMBA_CUDA_")
_SETTINGS = (
    "OPT",
    "BOUNDSCHECK",
    "CUDA_DEBUGINFO_DEFAULT",
    "CUDA_DEFAULT_PTX_CC",
    "CUDA_USE_NVIDIA_BINDING",
    "DEBUG_ARRAY_OPT",
    "DISABLE_JIT",
    "FORCE_CUDA_CC",
)


def python_environment() -> str:
    """Returns the digest of the compiler's files and settings. Raises Refused for a setting that the key can't cover."""
    from numba_cuda_mlir.numba_cuda.core import config

    if os.environ.get("LIBLLVM7"):
        raise Refused("LIBLLVM7 names another LLVM")
    if getattr(config, "ENABLE_CUDASIM", 0):
        raise Refused("the CUDA simulator is on")
    if getattr(config, "CUDA_DEBUGINFO_DEFAULT", 0):
        raise Refused("all functions are compiled for debugging")
    return digest((_python_compiler(), describe_settings(config, _SETTINGS), sys.implementation.cache_tag))


@functools.lru_cache(maxsize=1)
def _python_compiler() -> Description:
    from numba_cuda_mlir.numba_cuda.cudadrv.libs import get_cudalib, get_libdevice

    import numba_cuda_mlir

    return (
        ("numba_cuda_mlir", version("numba-cuda-mlir"), contents(os.path.dirname(numba_cuda_mlir.__file__))),
        ("libnvvm", contents(_found("libnvvm", get_cudalib("nvvm")))),
        ("libdevice", contents(_found("libdevice", get_libdevice()))),
    )


def _found(name: str, path: object) -> str:
    if not isinstance(path, str) or not os.path.isabs(path):
        raise Refused(f"{name} can't be found")
    return path


def environment_variables(more: tuple[str, ...] = ()) -> Description:
    """Returns the variables that compilers read, and those that begin with `more`."""
    names = (*_VARIABLES, *more)
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(names)))
