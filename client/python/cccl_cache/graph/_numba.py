# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of numba-cuda. The module imports numba only for a node that has such a kernel."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Iterator

from ._memory import require_device
from ._nodes import KernelNode

_NOT_THERE = 'a kernel that is a function needs numba-cuda ({}): pip install "numba-cuda[cu13]"'


def prepare(nodes: list[KernelNode]) -> Iterator[tuple[KernelNode, Any, list[Any], Any]]:
    """Yields each node with its kernel, the kernel's arguments, and the objects that must live as long as the graph.

    All kernels are compiled before the first is loaded.
    """
    wanted = []
    for node in nodes:
        dispatcher = _dispatcher(node.kernel)
        _check_arguments(node.args)
        wanted.append((dispatcher, tuple(map(dispatcher.typeof_pyval, node.args))))
    for node, compiled in zip(nodes, compile_many(wanted)):
        args = _arguments(compiled, node.args)
        yield node, compiled.library.get_cufunc().kernel, args, (compiled, list(node.args))


def compile_many(wanted: list[tuple[Any, tuple[Any, ...]]]) -> list[Any]:
    """Compiles each dispatcher for its types: at once if the plug-in for numba is on, else one after the other."""
    plugin = sys.modules.get("cccl_cache.numba")
    if len(wanted) < 2 or plugin is None or not plugin.status()["on"]:
        return [dispatcher.compile(types) for dispatcher, types in wanted]
    from ..numba._together import compile_together

    return compile_together(wanted)


def _dispatcher(kernel: Any) -> Any:
    loaded = sys.modules.get("numba.cuda.dispatcher")
    if loaded is not None and isinstance(kernel, loaded.CUDADispatcher):
        if "numba_cuda" not in str(loaded.__file__):
            raise TypeError(_NOT_THERE.format("this kernel is of the CUDA target that numba itself once had"))
        return kernel
    if type(kernel).__module__.startswith("numba_cuda_mlir"):
        raise TypeError("a graph takes no kernels of numba-cuda-mlir, which does not tell how it passes their arguments: "
                        "compile the function with numba-cuda, or give the function itself to KernelNode")
    if inspect.isfunction(kernel):
        return _jitted(kernel)
    raise TypeError(f"a {type(kernel).__name__} is no kernel: KernelNode takes kernels of numba-cuda, plain functions, "
                    "kernels of cuda.core, and builds and results of cccl_cache")


@functools.lru_cache(maxsize=256)
def _jitted(function: Any) -> Any:
    try:
        import numba_cuda  # noqa: F401  (without it numba.cuda is that of numba itself)
        from numba import cuda
    except ImportError as error:
        raise ImportError(_NOT_THERE.format(error)) from error
    return cuda.jit(function)


def _check_arguments(args: list[Any]) -> None:
    from numba.cuda.args import ArgHint

    for place, given in enumerate(args):
        require_device(given.value if isinstance(given, ArgHint) else given, place)


def _arguments(compiled: Any, args: list[Any]) -> list[Any]:
    """Returns the arguments in the form in which numba's own launch passes them to cuda.core."""
    if compiled.cooperative:
        raise ValueError(f"{compiled.entry_name} synchronizes its whole grid, and cuda.core's graphs take no cooperative "
                         "kernels: launch it outside of the graph, or split it where it synchronizes")
    if compiled.debug:
        raise ValueError(f"{compiled.entry_name} is compiled with debug=True. Its exceptions are reported after each launch, "
                         "which a graph can't do: compile it without debug")
    compiled.bind()
    copied_back: list[Any] = []
    flat: list[Any] = []
    for type_, given in zip(compiled.argument_types, args):
        compiled._prepare_args(type_, given, 0, copied_back, flat)
    if copied_back:
        raise TypeError(f"an argument of {compiled.entry_name} would have to be copied back after each launch, which a graph "
                        "does only by a MemcpyDtoHNode")
    return flat
