# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The key of one build: fields that a person can read in a listing, and digests of the other inputs."""

from __future__ import annotations

from typing import Any, Optional

from .._numba.mlir_compiler import KNOWN_PACKAGES, python_environment
from .._plugin.canonical import Refused, digest
from .._plugin.leases import Key
from .._plugin.registrations import Registrations
from . import _arguments
from ._environment import native_environment

SCHEMA = "1"


def build_key(release: str, wrapper: Any, initializer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
    """Returns the key of the build of `wrapper` from these arguments. Raises Refused if the build has no key."""
    description = _arguments.describe_construction(wrapper, initializer, args, kwargs)
    python = "none"
    if _arguments.compiles_python(description):
        _check_registrations()
        python = python_environment()
    fields = {
        "schema": SCHEMA,
        "package": release,
        "algorithm": type(wrapper).__qualname__.lstrip("_"),
        "compute_capabilities": _targets(kwargs.get("compute_capability")),
        "arguments": digest(description),
        "native": native_environment(),
        "python": python,
    }
    return Key(fields, digest(tuple(sorted(fields.items()))))


def _targets(compute_capability: Any) -> str:
    from cuda.compute._cccl_interop import cc_to_key, normalize_compute_capabilities
    from cuda.compute._target_cc import get_target_cc

    targets = normalize_compute_capabilities(compute_capability) or [get_target_cc()]
    return " ".join(str(cc_to_key(target)) for target in targets)


def _check_registrations() -> None:
    """Raises Refused if a package other than the compiler and cuda.compute has registered functions or types with numba.

    A registration changes the code to which other functions compile.
    """
    from numba_cuda_mlir.extending import lowering_registry, typing_registry

    for home in _registrations.strangers((typing_registry, lowering_registry)):
        raise Refused(f"the module {home} registered functions or types with the compiler")


def _home_of(definition: Any) -> Optional[str]:
    return "cuda.compute" if _made_by_gpu_struct(definition) else getattr(definition, "__module__", None)


def _made_by_gpu_struct(definition: Any) -> bool:
    """Returns whether cuda.compute has registered this struct. types.new_class makes the struct's class, so the class
    names the module `types` as its origin."""
    from cuda.compute.struct import _Struct

    return isinstance(definition, type) and issubclass(definition, _Struct) and definition.__module__ == "types"


_registrations = Registrations(KNOWN_PACKAGES, _home_of)
