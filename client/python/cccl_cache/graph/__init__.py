# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs from nodes that belong to no graph until they are built.

    >>> from cccl_cache.graph import KernelNode, MemcpyDtoHNode, MemcpyHtoDNode
    >>> upload = MemcpyHtoDNode(device_array, host_array)
    >>> double = KernelNode[blocks, threads](kernel, [device_array], [upload])
    >>> graph = MemcpyDtoHNode(host_array, device_array, deps=[double]).build()
    >>> graph.launch()

Kernels are those of numba-cuda, plain functions for it, those of cuda.core, and builds of this package. All that a graph
has to compile is compiled in one step.
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
