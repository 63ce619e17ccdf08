# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The inputs of a compile of numba-cuda besides its function: packages, compilers, headers and settings.

A file counts by its contents. The files are those that this process has loaded or will load; each is read once.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from typing import Any

import cuda.bindings
import cuda.core
import llvmlite
import numba
import numba_cuda
import numpy
from cuda import pathfinder
from numba.cuda import cuda_paths
from numba.cuda.core import config
from numba.cuda.core.imputils import builtin_registry as lowering
from numba.cuda.core.rewrites import rewrite_registry
from numba.cuda.descriptor import cuda_target
from numba.cuda.typing.templates import builtin_registry as typing

from .._numba.settings import describe_settings
from .._plugin.canonical import Description, Refused, digest
from .._plugin.loaded import behind_standin, contents, nvrtc_builtins
from .._plugin.registrations import Registrations, describe_package

_VERSIONED = (numba_cuda, numba, llvmlite, numpy, cuda.core, cuda.bindings, pathfinder)
_REGISTRIES = ("numba.cuda.cudadecl", "numba.cuda.cudaimpl", "numba.cuda.cudamath")
_CORE_REGISTRIES = ("numba.core.typing.templates", "numba.core.imputils")
_KNOWN = (
    *("numba", "numba_cuda", "llvmlite", "numpy", "abc", "builtins", "typing", "types", "enum", "collections"),
    *("math", "cmath", "operator", "_operator", "functools", "_functools", "itertools"),
)
_SETTINGS = (
    "ALWAYS_WARN_UNINIT_VAR",
    "BOUNDSCHECK",
    "CUDA_DEBUG_POLY",
    "CUDA_DEFAULT_PTX_CC",
    "CUDA_NVRTC_EXTRA_SEARCH_PATHS",
    "DEBUG_ARRAY_OPT",
    "DISABLE_JIT",
    "FORCE_CUDA_CC",
    "OPT",
)
_PRINTING = ("DUMP_ASSEMBLY", "DUMP_BYTECODE", "DUMP_CFG", "DUMP_IR", "DUMP_LLVM", "DUMP_SSA", "ANNOTATE", "HTML")
_VARIABLES = ("NVVM_", "NVJITLINK_", "NVRTC_", "NUMBA_CUDA_")
_registrations = Registrations(_KNOWN)


def toolchain() -> str:
    """Returns the digest of the inputs that all kernels share. Raises Refused if an input can't be found."""
    for name in _PRINTING:
        if getattr(config, name, None):
            raise Refused(f"NUMBA_{name} has numba print what it compiles")
    settings = (describe_settings(config, _SETTINGS), ("enable_nrt", bool(cuda_target.target_context.enable_nrt)))
    taught = tuple(describe_package(home) for home in _registrations.strangers(_registries()))
    return digest((_files(), settings, _variables(), taught, sys.implementation.cache_tag, platform.machine()))


def headers() -> str:
    """Returns the digest of the further inputs of a kernel that links CUDA C++ source."""
    return digest(_headers())


@functools.lru_cache(maxsize=1)
def _files() -> Description:
    libdevice = cuda_paths._get_libdevice_path().info
    if not libdevice:
        raise Refused("libdevice can't be found")
    paths = (
        ("numba-cuda", os.path.dirname(numba_cuda.__file__)),
        ("llvmlite", os.path.dirname(llvmlite.__file__)),
        ("libnvvm", _library("nvvm")),
        ("nvJitLink", _library("nvJitLink")),
        ("libdevice", libdevice),
    )
    versions = tuple((package.__name__, package.__version__) for package in _VERSIONED)
    return (tuple((name, contents(path)) for name, path in paths), versions)


@functools.lru_cache(maxsize=1)
def _headers() -> Description:
    nvrtc = _library("nvrtc")
    found = pathfinder.locate_nvidia_header_directory("cccl")
    extra = [place for place in str(config.CUDA_NVRTC_EXTRA_SEARCH_PATHS or "").split(":") if place]
    places = [cuda_paths.get_cuda_paths()["include_dir"].info, None if found is None else found.abs_path, *extra]
    return (contents(nvrtc), nvrtc_builtins([nvrtc]), tuple(contents(place) for place in places if place))


def _library(name: str) -> str:
    """Returns the file of a library. Loads the library if numba-cuda's first compile has not loaded it yet."""
    try:
        path = pathfinder.load_nvidia_dynamic_lib(name).abs_path
    except Exception as error:
        raise Refused(f"{name} can't be loaded: {error}") from None
    if path is None:
        raise Refused(f"{name} can't be found")
    return behind_standin(os.path.realpath(path))


def _registries() -> list[Any]:
    """Returns those of numba's registries that programs may extend, as far as they are loaded."""
    modules = [sys.modules[name] for name in (*_REGISTRIES, *_CORE_REGISTRIES) if name in sys.modules]
    found = [vars(module).get("registry") or vars(module).get("builtin_registry") for module in modules]
    return [typing, lowering, rewrite_registry, *(each for each in found if each is not None)]


def _variables() -> Description:
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(_VARIABLES)))
