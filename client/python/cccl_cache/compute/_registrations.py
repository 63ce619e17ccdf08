# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Whether somebody taught numba's compiler functions or types of their own: then a function's code does not say
what it compiles to."""

from __future__ import annotations

from typing import Any, Iterator

from ._canonical import Refused

_KNOWN = ("numba_cuda_mlir", "cuda", "numpy", "builtins", "_operator", "operator", "math", "cmath", "abc")
_checked: dict[int, int] = {}


def check_registrations() -> None:
    """Raises Refused if a registration comes from another package than the compiler's and cuda.compute's own."""
    from numba_cuda_mlir.extending import lowering_registry, typing_registry

    for registry in (typing_registry, lowering_registry):
        size = sum(len(part) for part in _parts(registry))
        if _checked.get(id(registry)) == size:
            continue
        for entry in (entry for part in _parts(registry) for entry in part):
            for home in _homes(entry):
                if home.partition(".")[0] not in _KNOWN:
                    raise Refused(f"the module {home} registered functions or types with the compiler")
        _checked[id(registry)] = size


def _parts(registry: Any) -> list[list[Any]]:
    return [part for part in vars(registry).values() if isinstance(part, list)]


def _homes(entry: Any) -> Iterator[str]:
    """The modules from which a registration comes: those of its classes, their bases, and its functions."""
    for part in entry if isinstance(entry, tuple) else (entry,):
        for found in (part, *getattr(part, "templates", ())):
            found = getattr(found, "_overload_func", found)
            for definition in found.__mro__ if isinstance(found, type) else (found,):
                home = getattr(definition, "__module__", None)
                if isinstance(home, str) and (isinstance(definition, type) or callable(definition)):
                    yield "cuda.compute" if _made_by_gpu_struct(definition) else home


def _made_by_gpu_struct(definition: Any) -> bool:
    """cuda.compute registers each struct when it first meets it. Its class is made by types.new_class, which it
    therefore claims to come from."""
    from cuda.compute.struct import _Struct

    return isinstance(definition, type) and issubclass(definition, _Struct) and definition.__module__ == "types"
