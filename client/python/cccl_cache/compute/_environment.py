# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The inputs of the code that cuda.compute makes, besides the arguments: packages, compilers, headers, settings.

Files count by their contents, as this process has loaded or will find them; read once per process.
"""

from __future__ import annotations

import functools
import glob
import os
import platform
import sys
from importlib import metadata
from typing import Iterable

from ._canonical import Description, Refused, digest
from ._file_digests import contents_digest

_LOADED = ("libnvrtc.so", "libnvJitLink.so")
_BUILTINS = "libnvrtc-builtins.so"
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
    contents = tuple((name, _contents(roots[name])) for name in sorted(roots))
    versions = tuple((name, _version(name)) for name in _VERSIONED)
    return (contents, nvrtc_builtins(copies["libnvrtc.so"]), versions, platform.machine())


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
        ("numba_cuda_mlir", _version("numba-cuda-mlir"), _contents(os.path.dirname(numba_cuda_mlir.__file__))),
        ("libnvvm", _contents(_found("libnvvm", get_cudalib("nvvm")))),
        ("libdevice", _contents(_found("libdevice", get_libdevice()))),
    )


def _found(name: str, path: object) -> str:
    if not isinstance(path, str) or not os.path.isabs(path):
        raise Refused(f"{name} can't be found")
    return path


def loaded_copies(name: str) -> list[str]:
    """The paths of the library that this process has loaded under a name that starts so: several if it has copies.

    Raises Refused if it has none, or several with other contents: the loader alone knows which of them is called.
    """
    paths = _loaded(name)
    if not paths:
        raise Refused(f"{name} is not loaded")
    if len({_contents(path) for path in paths}) > 1:
        raise Refused(f"more than one {name} is loaded: {', '.join(paths)}")
    return paths


def nvrtc_builtins(copies: Iterable[str]) -> Description:
    """The digests of what NVRTC loads at its first compile: the files beside it, or beside each of its copies.

    Their names don't count: installations of one release give them different ones. Raises Refused if there are none, or
    if the loader took or would take one with other contents from elsewhere.
    """
    known: dict[str, Description] = {}
    for nvrtc in copies:
        beside = glob.glob(f"{glob.escape(os.path.dirname(nvrtc))}/{_BUILTINS}*")
        if not beside:
            raise Refused(f"NVRTC's builtins do not lie beside {nvrtc}")
        known[nvrtc] = tuple(sorted({_contents(path) for path in beside}))
        for path in _loaded(_BUILTINS) or _preferred_to(map(os.path.basename, beside)):
            if _contents(path) not in known[nvrtc]:
                raise Refused(f"NVRTC's builtins come from {path}, and not from beside {nvrtc}")
    if len(set(known.values())) > 1:
        raise Refused(f"copies of NVRTC have other builtins beside them: {', '.join(known)}")
    return next(iter(known.values()))


def _preferred_to(names: Iterable[str]) -> list[str]:
    """Returns the files that the loader uses for names with a version, before it looks beside the library that loads them."""
    wanted = [name for name in names if ".so." in name]
    paths = (os.path.join(directory, name) for directory in _library_path() for name in wanted)
    return [path for path in paths if os.path.exists(path)]


def _library_path() -> list[str]:
    """LD_LIBRARY_PATH as the loader has it: from when the process began. An empty part is the working directory."""
    with open("/proc/self/environ", "rb") as environment:
        for variable in environment.read().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"LD_LIBRARY_PATH" and value:
                return [part or "." for part in os.fsdecode(value).replace(";", ":").split(":")]
    return []


def _loaded(name: str) -> list[str]:
    """The paths of the files that this process has mapped under a name that starts so."""
    paths: dict[str, None] = {}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            _, slash, path = line.rstrip("\n").partition("/")
            if slash and os.path.basename(path).startswith(name):
                paths[os.path.realpath(slash + path)] = None
    return list(paths)


def _contents(path: str) -> str:
    try:
        return contents_digest(path)
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}") from None


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        raise Refused(f"the package {name} has no version") from None


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
