# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles and loads the kernels of nodes, and converts their arguments for cuda.core."""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, NamedTuple, Optional

import numpy
from cuda.core import Buffer, Kernel, LaunchConfig
from cuda.core.utils import StridedMemoryView

import cccl_cache

from . import _numba
from ._memory import require_device
from ._nodes import KernelNode

_PROGRAMS = (cccl_cache.Build, cccl_cache.Link, cccl_cache.Nvvm)


class Launch(NamedTuple):
    """The arguments of cuda.core for a kernel node."""

    config: LaunchConfig
    kernel: Kernel
    args: list[Any]
    keep: Any  # objects that must live as long as the graph


def prepare(nodes: Iterable[KernelNode], client: Optional[cccl_cache.Client]) -> dict[KernelNode, Launch]:
    """Compiles and loads the kernels of all nodes, all builds in one batch and all kernels of numba in one step."""
    loaded: dict[KernelNode, Launch] = {}
    of_builds: list[KernelNode] = []
    of_numba: list[KernelNode] = []
    for node in nodes:
        if isinstance(node.kernel, Kernel):
            loaded[node] = _launch(node, node.kernel)
        elif isinstance(node.kernel, (cccl_cache.Result, *_PROGRAMS)):
            of_builds.append(node)
        else:
            of_numba.append(node)
    loaded.update(_of_builds(of_builds, client))
    for node, kernel, args, keep in _numba.prepare(of_numba):
        loaded[node] = Launch(_config(node), kernel, args, keep)
    return loaded


def _of_builds(nodes: list[KernelNode], client: Optional[cccl_cache.Client]) -> dict[KernelNode, Launch]:
    programs = list({id(node.kernel): node.kernel for node in nodes if isinstance(node.kernel, _PROGRAMS)}.values())
    results: dict[int, cccl_cache.Result] = {}
    if programs:
        for number, result in (client or cccl_cache.Client()).build_many(programs):
            if isinstance(result, cccl_cache.Error):
                raise result
            results[id(programs[number])] = result
    objects: dict[int, Any] = {}
    launches = {}
    for node in nodes:
        result = results.get(id(node.kernel), node.kernel)
        if id(result) not in objects:
            objects[id(result)] = _object_of(result)
        launches[node] = _launch(node, objects[id(result)].get_kernel(_name(node, result)))
    return launches


def _object_of(result: cccl_cache.Result) -> Any:
    if not {"cubin", "ptx"} & set(result.artifacts):
        raise ValueError(f"a kernel node needs a cubin or PTX, and this build made {', '.join(result.artifacts)}: build it "
                         'with emit="cubin"')
    return result.to_object_code()


def _name(node: KernelNode, result: cccl_cache.Result) -> str:
    if node.name is not None:
        return node.name
    if len(result.lowered_names) != 1:
        raise ValueError(f"the build has {len(result.lowered_names)} name expressions, so the node must say which kernel it "
                         'launches: KernelNode[grid, block](build, args, name="...")')
    return next(iter(result.lowered_names))


def _launch(node: KernelNode, kernel: Kernel) -> Launch:
    args = [_argument(each, place) for place, each in enumerate(node.args)]
    _check_widths(kernel, args)
    return Launch(_config(node), kernel, args, list(node.args))


def _config(node: KernelNode) -> LaunchConfig:
    return LaunchConfig(grid=_dimensions(node.params["gridDim"]), block=_dimensions(node.params["blockDim"]),
                        shmem_size=int(node.params["sharedMem"]))


def _dimensions(given: Any) -> tuple[int, ...]:
    return tuple(map(int, given)) if isinstance(given, (tuple, list)) else (int(given),)


def _argument(given: Any, place: int) -> Any:
    """Returns the address of an array, and any other value unchanged."""
    require_device(given, place)
    if isinstance(given, Buffer):
        return given
    if hasattr(given, "__cuda_array_interface__"):
        return int(given.__cuda_array_interface__["data"][0])
    return int(StridedMemoryView.from_dlpack(given, stream_ptr=-1).ptr) if hasattr(given, "__dlpack__") else given


def _check_widths(kernel: Kernel, args: list[Any]) -> None:
    try:
        parameters = kernel.arguments_info
    except NotImplementedError:  # drivers before 12.4 have no such query
        return
    if len(parameters) != len(args):
        raise TypeError(f"the kernel takes {len(parameters)} arguments, and the node has {len(args)}")
    for place, (given, parameter) in enumerate(zip(args, parameters)):
        width = _width(given)
        if width is not None and width != parameter.size:
            raise TypeError(f"argument {place} is {width} bytes wide as a {type(given).__name__}, and the kernel takes "
                            f"{parameter.size}: say the type by NumPy, such as numpy.int32({given!r})")


def _width(given: Any) -> Optional[int]:
    """Returns the size in bytes that cuda.core passes for an argument. None if only cuda.core knows the type."""
    if isinstance(given, bool):
        return ctypes.sizeof(ctypes.c_bool)
    if isinstance(given, (int, Buffer)):
        return ctypes.sizeof(ctypes.c_void_p)
    if isinstance(given, numpy.generic):
        return int(given.itemsize)
    if isinstance(given, float):
        return ctypes.sizeof(ctypes.c_double)
    if isinstance(given, complex):
        return 2 * ctypes.sizeof(ctypes.c_double)
    return ctypes.sizeof(given) if isinstance(given, ctypes._SimpleCData) else None
