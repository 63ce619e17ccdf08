# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs from nodes that are made first and belong to a graph only after `build`.

    >>> from cccl_cache.graph import KernelNode, MemcpyDtoHNode, MemcpyHtoDNode
    >>> upload = MemcpyHtoDNode(device_array, host_array)
    >>> double = KernelNode[blocks, threads](kernel, [device_array], [upload])
    >>> graph = MemcpyDtoHNode(host_array, device_array, deps=[double]).build()
    >>> graph.launch()

A kernel is one of numba-cuda, a plain function for numba-cuda, one of cuda.core, or a build of this package. `build`
compiles all kernels of a graph in one step.
"""

try:
    import cuda.bindings  # noqa: F401  (cuda.core needs it, and does not say which package holds it)
    import cuda.core  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'cccl_cache.graph needs cuda-core with the bindings of a CUDA major ({error}): pip install "cuda-core[cu13]"'
    ) from error

from ._graph import Graph, build
from ._nodes import EmptyNode, HostNode, KernelNode, MemcpyDtoHNode, MemcpyHtoDNode, MemcpyNode, MemsetNode, Node

__all__ = ["EmptyNode", "Graph", "HostNode", "KernelNode", "MemcpyDtoHNode", "MemcpyHtoDNode", "MemcpyNode", "MemsetNode",
           "Node", "build"]
