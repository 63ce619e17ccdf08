# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The inputs of a build of cuda.compute besides its arguments: packages, compilers, headers and settings.

A file counts by its contents. The files are those that this process has loaded or will load; each is read once.
"""

from __future__ import annotations

import functools
import os
import platform

from .._numba.mlir_compiler import environment_variables
from .._plugin.canonical import Description, digest
from .._plugin.loaded import contents, loaded_copies, nvrtc_builtins, version

_LOADED = ("libnvrtc.so", "libnvJitLink.so")
_VERSIONED = ("cuda-cccl", "cuda-core", "cuda-bindings", "cuda-pathfinder", "numpy")


def native_environment() -> str:
    """Returns the digest of the inputs that all builds share. Raises Refused if an input can't be found."""
    return digest((_native_files(), environment_variables(("CUB_", "THRUST_"))))


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
