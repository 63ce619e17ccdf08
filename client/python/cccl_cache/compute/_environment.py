# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The inputs of the code that cuda.compute makes, besides the arguments: packages, compilers, headers, settings.

Files count by their contents, as this process has loaded or will find them; read once per process.
"""

from __future__ import annotations

import functools
import os
import platform
import sys

from .._plugin.canonical import Description, Refused, digest
from .._plugin.loaded import contents, loaded_copies, nvrtc_builtins, version

_LOADED = ("libnvrtc.so", "libnvJitLink.so")
_VERSIONED = ("cuda-cccl", "cuda-core", "cuda-bindings", "cuda-pathfinder", "numpy")
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
_VARIABLES = ("NVRTC_", "NVRTCWIZ", "NVJITLINK_", "NVVM_", "NUMBA_CUDA_", "CUB_", "THRUST_")


def native_environment() -> str:
    """The digest of what every build depends on. Raises Refused if a part can't be found."""
    return digest((_native_files(), _variables()))


@functools.lru_cache(maxsize=1)
def _native_files() -> Description:
    from cuda.cccl import get_include_paths

    import cuda.cccl
    import cuda.compute

    roots = {
        "cuda.compute": os.path.dirname(cuda.compute.__file__),
        "cuda.cccl": os.path.dirname(cuda.cccl.__file__),
        "headers": str(get_include_paths().cuda),
    }
    copies = {name: loaded_copies(name) for name in _LOADED}
    roots.update((name, paths[0]) for name, paths in copies.items())
    files = tuple((name, contents(roots[name])) for name in sorted(roots))
    versions = tuple((name, version(name)) for name in _VERSIONED)
    return (files, nvrtc_builtins(copies["libnvrtc.so"]), versions, platform.machine())


def python_environment() -> str:
    """The digest of what the code of a Python operator depends on besides. Raises Refused for settings not kept apart."""
    from numba_cuda_mlir.numba_cuda.core import config

    if os.environ.get("LIBLLVM7"):
        raise Refused("LIBLLVM7 names another LLVM")
    if getattr(config, "ENABLE_CUDASIM", 0):
        raise Refused("the CUDA simulator is on")
    if getattr(config, "CUDA_DEBUGINFO_DEFAULT", 0):
        raise Refused("operators are compiled for debugging")
    settings = tuple((name, _setting(name, getattr(config, name, None))) for name in _SETTINGS)
    return digest((_python_compiler(), settings, sys.implementation.cache_tag))


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


def _setting(name: str, value: object) -> object:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (list, tuple)):
        return tuple(_setting(name, element) for element in value)
    if value is None or isinstance(value, str):
        return value
    raise Refused(f"numba's setting {name}")


def _variables() -> Description:
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(_VARIABLES)))
