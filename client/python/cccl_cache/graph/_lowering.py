# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering of nodes to a graph of cuda.core."""

from __future__ import annotations

import functools
import logging
from typing import Any, Optional

from cuda.bindings import driver
from cuda.core.graph import GraphDefinition

from ._kernels import Launch
from ._memory import Memory, locate, require_writable
from ._nodes import EmptyNode, HostNode, KernelNode, MemsetNode, Node, _CopyNode

_logger = logging.getLogger("cccl_cache.graph")


class Failures:
    """The errors that functions of host nodes raised."""

    def __init__(self) -> None:
        self._first: Optional[BaseException] = None

    def note(self, function: Any, error: BaseException) -> None:
        _logger.error("%r raised in a graph's host node", function, exc_info=error)
        self._first = self._first or error

    def raise_first(self) -> None:
        first, self._first = self._first, None
        if first is not None:
            raise RuntimeError(f"a host node raised at an earlier launch: {first!r}") from first


class Definition:
    """A graph of cuda.core with the objects that it uses."""

    def __init__(self, nodes: list[Node]) -> None:
        self.graph = GraphDefinition()
        self.failures = Failures()
        self.keep: list[Any] = []
        places = {node: place for place, node in enumerate(nodes)}
        # The properties that an update must not change.
        self.shape = [(type(node), sorted({places[each] for each in node.deps})) for node in nodes]

    def describe(self) -> str:
        edges = sum(len(deps) for _, deps in self.shape)
        return f"{', '.join(kind.__name__ for kind, _ in self.shape)} with {edges} dependencies"


def lower(nodes: list[Node], launches: dict[KernelNode, Launch]) -> Definition:
    """Makes a graph of nodes, which are in the order of their dependencies."""
    definition = Definition(nodes)
    # All nodes are added without dependencies first: cuda.core can connect a node that the driver has added, but has no
    # way to add such a node after another.
    added = [_add(node, definition, launches) for node in nodes]
    by_handle = {int(each.handle): each for each in definition.graph.nodes()} if any(isinstance(x, int) for x in added) else {}
    made = {node: by_handle[each] if isinstance(each, int) else each for node, each in zip(nodes, added)}
    for node in nodes:
        if node.deps:
            made[node].pred.update({made[each] for each in node.deps})
    return definition


def _add(node: Node, definition: Definition, launches: dict[KernelNode, Launch]) -> Any:
    """Returns a node of cuda.core, or the handle of a node that the driver has added."""
    if isinstance(node, KernelNode):
        launch = launches[node]
        definition.keep.append(launch)
        return definition.graph.launch(launch.config, launch.kernel, *launch.args)
    if isinstance(node, _CopyNode):
        return _add_copy(node, definition)
    if isinstance(node, MemsetNode):
        return _add_memset(node, definition)
    if isinstance(node, HostNode):
        call = functools.partial(node.function, *node.args)
        return definition.graph.callback(functools.partial(_call, call, definition.failures))
    if isinstance(node, EmptyNode):
        return definition.graph.empty()
    raise TypeError(f"a {type(node).__name__} is of none of the kinds of nodes that there are")


def _call(call: Any, failures: Failures) -> None:
    try:
        call()
    except BaseException as error:  # the caller is a thread of the driver, which can't handle it
        failures.note(call.func, error)


def _add_copy(node: _CopyNode, definition: Definition) -> Any:
    to, source = _side(node, "dst", node.to_host), _side(node, "src", node.from_host)
    size = _size(node, to, source)
    if to.on_host:
        require_writable(node.dst)
    definition.keep.append((node.dst, node.src))
    if to.on_host or source.on_host:
        return _add_host_copy(definition.graph, to, source, size)
    return definition.graph.memcpy(to.address, source.address, size)


def _side(node: _CopyNode, name: str, on_host: Optional[bool]) -> Memory:
    given = getattr(node, name)
    found = locate(given)
    if on_host is None:
        return found
    if found.on_host not in (None, on_host):
        there = "host" if found.on_host else "device"
        raise TypeError(f"{type(node).__name__}: {name} is a {type(given).__name__} on the {there}. MemcpyHtoDNode(dst, src) "
                        "copies from the host, MemcpyDtoHNode to the host, and MemcpyNode wherever memory lies")
    return found._replace(on_host=on_host)


def _size(node: _CopyNode, to: Memory, source: Memory) -> int:
    known = [size for size in (to.size, source.size) if size is not None]
    if node.size is None:
        if not known:
            raise ValueError("a copy between two addresses needs a size in bytes")
        if len(set(known)) > 1:
            raise ValueError(f"dst has {to.size} bytes and src {source.size}: give the size of the copy")
        return known[0]
    size = int(node.size)
    if size < 0 or any(size > each for each in known):
        raise ValueError(f"a copy of {size} bytes does not fit: there are {min(known, default=0)}")
    return size


def _add_host_copy(graph: GraphDefinition, to: Memory, source: Memory, size: int) -> int:
    """Adds a copy with memory of the host through the driver. cuda.core can't: it asks the driver for the memory's type,
    and the driver knows only pinned memory of the host."""
    copy = driver.CUDA_MEMCPY3D()
    copy.WidthInBytes, copy.Height, copy.Depth = size, 1, 1
    kinds = driver.CUmemorytype
    for name, side in (("dst", to), ("src", source)):
        setattr(copy, name + "MemoryType", kinds.CU_MEMORYTYPE_HOST if side.on_host else kinds.CU_MEMORYTYPE_DEVICE)
        setattr(copy, name + ("Host" if side.on_host else "Device"), side.address)
    return int(must(driver.cuGraphAddMemcpyNode(graph.handle, None, 0, copy, must(driver.cuCtxGetCurrent()))))


def _add_memset(node: MemsetNode, definition: Definition) -> Any:
    to, element = locate(node.dst), node.params["elemSize"]
    if to.on_host:
        raise TypeError(f"MemsetNode fills memory of the device, and this {type(node.dst).__name__} is on the host: use a "
                        "HostNode")
    if element not in (1, 2, 4):
        raise ValueError(f"elemSize is 1, 2 or 4, not {element!r}")
    size = to.size if node.size is None else int(node.size)
    if size is None:
        raise ValueError("to fill memory at an address, MemsetNode needs a size in bytes")
    if size % element or (to.size is not None and size > to.size):
        raise ValueError(f"{size} bytes are no elements of {element} bytes each, or more than there are")
    try:
        value = int(node.value).to_bytes(element, "little", signed=node.value < 0)
    except OverflowError:
        raise ValueError(f"{node.value} does not fit into an element of {element} bytes") from None
    definition.keep.append(node.dst)
    return definition.graph.memset(to.address, value, size // element)


def must(answer: Any) -> Any:
    """Returns the result of a driver call, or raises if the call failed."""
    error, *results = answer
    if int(error):
        raise RuntimeError(f"the CUDA driver answered {error.name}")
    return results[0] if results else None
