# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The key of one kernel: fields that a person can read in a listing, and digests of the other inputs."""

from __future__ import annotations

import platform
from typing import Any

from numba_cuda_mlir import tools
from numba_cuda_mlir.extending import lowering_registry, typing_registry
from numba_cuda_mlir.numba_cuda.utils import cached_file_read

from .._numba.link_files import describe_link_files
from .._numba.mlir_compiler import KNOWN_PACKAGES, environment_variables, python_environment
from .._plugin.canonical import Description, digest
from .._plugin.leases import Key
from .._plugin.loaded import contents, loaded_copies, version
from .._plugin.registrations import Registrations, describe_package
from ._values import KERNELS, VALUES

NAMESPACE = "numba_cuda_mlir"
SCHEMA = "1"
_VERSIONED = ("cuda-core", "cuda-bindings", "cuda-pathfinder", "numpy")
_registrations = Registrations(KNOWN_PACKAGES)


def kernel_key(release: str, dispatcher: Any, argument_types: tuple[Any, ...]) -> Key:
    """Returns the key of a kernel for these types of arguments. Raises Refused if the kernel has no key."""
    function = dispatcher.py_func
    options = dict(dispatcher.targetoptions)
    files = describe_link_files(options.pop("link", None) or (), cached_file_read)
    walk = VALUES.walk()
    described: Description = (
        walk.function(function),
        KERNELS.options(function.__name__, options),
        tuple(sorted(files)),
        tuple(VALUES.describe_type(each, walk) for each in argument_types),
    )
    target = tools.resolve_gpu_target(dispatcher.targetoptions)
    fields = {
        "schema": SCHEMA,
        "package": release,
        "kernel": f"{function.__module__}.{function.__qualname__}",
        "target": ", ".join(f"{name} {target[name]}" for name in sorted(target)),
        "arguments": ", ".join(map(str, argument_types))[:200],
        "function": digest(described),
        "toolchain": _toolchain(),
    }
    return Key(fields, digest(tuple(sorted(fields.items()))))


def _toolchain() -> str:
    """Returns the digest of the inputs that all kernels share. Raises Refused if an input can't be found."""
    taught = tuple(describe_package(home) for home in _registrations.strangers((typing_registry, lowering_registry)))
    versions = tuple((name, version(name)) for name in _VERSIONED)
    return digest((python_environment(), _linker(), taught, versions, environment_variables(), platform.machine()))


def _linker() -> str:
    from cuda.bindings import nvjitlink

    nvjitlink.version()  # loads the library
    return contents(loaded_copies("libnvJitLink.so")[0])
