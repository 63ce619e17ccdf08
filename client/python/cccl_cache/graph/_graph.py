# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The graphs that `build` returns."""

from __future__ import annotations

from typing import Any, Iterator, Optional

from cuda.bindings import driver
from cuda.core import Device, Stream

from . import _kernels
from ._lowering import Definition, lower, must
from ._nodes import KernelNode, Node


def build(*nodes: Node, client: Any = None) -> Graph:
    """Makes a graph of nodes and of all their dependencies.

    The kernels are compiled first, all builds of this package in one batch. The nodes do not change, and may be edited
    and built again. The call does not wait for pending writes of other streams to the arrays.

    Parameters
    ----------
    client : cccl_cache.Client, optional
        Runs the builds. Default: a ``cccl_cache.Client()``.

    Raises
    ------
    ValueError
        The nodes depend on each other in a circle, or a node can't be part of a graph.
    TypeError
        An argument has the wrong type or width, or is an array on the host.
    cccl_cache.Error
        A build failed. A ``CompileError`` if its code does not compile.
    """
    return Graph(nodes, client)


class Graph:
    """A graph. It keeps its arrays, kernels and functions alive. For one thread at a time."""

    def __init__(self, nodes: tuple[Node, ...], client: Any = None) -> None:
        self._executable: Any = None
        self._launched: Any = None  # an event after the last launch
        self._earlier: list[tuple[Any, Definition]] = []  # of earlier updates, as long as launches may use them
        self._nodes, self._client = nodes, client
        self._definition: Optional[Definition] = _define(nodes, client)

    def instantiate(self, options: Any = None) -> Graph:
        """Makes the graph executable. `options` is a ``cuda.core.graph.GraphCompleteOptions``."""
        self._executable = self._built().graph.instantiate(options)
        return self

    def launch(self, stream: Any = None) -> Graph:
        """Launches the graph without waiting for it. The first launch instantiates the graph.

        Parameters
        ----------
        stream
            A stream of cuda.core, numba, CuPy or PyTorch, or a handle. Default: the default stream.
        """
        self._built().failures.raise_first()
        if self._executable is None:
            self.instantiate()
        launched_on = _stream(stream)
        self._executable.launch(launched_on)
        self._launched = launched_on.record(self._launched)
        return self

    def update(self, *nodes: Node) -> Graph:
        """Applies the nodes' current arguments, sizes and kernels without instantiating again.

        Default: the nodes from which the graph was built. If the call fails, the graph does not change.

        Raises
        ------
        ValueError
            The nodes have other kinds or other dependencies.
        """
        current = self._built()
        current.failures.raise_first()
        new = _define(nodes or self._nodes, self._client)
        if new.shape != current.shape:
            raise ValueError(f"an update changes what nodes do, not which there are or what they depend on: {current.describe()}"
                             f" became {new.describe()}. Build a new graph instead")
        if self._executable is not None:
            self._executable.update(new.graph)
        self._earlier = [(event, earlier) for event, earlier in self._earlier if not event.is_done]
        if self._launched is not None:
            self._earlier.append((self._launched, current))
            self._launched = None
        self._definition, self._nodes = new, nodes or self._nodes
        return self

    def destroy(self) -> None:
        """Waits until the graph has run, and frees its resources. A second call does nothing."""
        if self._definition is None:
            return
        events = [event for event, _ in self._earlier] + [event for event in (self._launched,) if event is not None]
        for event in events:
            event.sync()
        if self._executable is not None:
            self._executable.close()
        self._executable = self._launched = self._definition = None
        self._earlier, self._nodes = [], ()

    def __del__(self) -> None:
        if getattr(self, "_definition", None) is not None:
            self.destroy()

    def _built(self) -> Definition:
        if self._definition is None:
            raise RuntimeError("the graph was destroyed: build its nodes again")
        return self._definition


def _define(nodes: tuple[Node, ...], client: Any) -> Definition:
    if not must(driver.cuInit(0)) and not int(must(driver.cuCtxGetCurrent())):
        Device().set_current()
    ordered = _in_order(nodes)
    return lower(ordered, _kernels.prepare([node for node in ordered if isinstance(node, KernelNode)], client))


def _in_order(ends: tuple[Node, ...]) -> list[Node]:
    """Returns all nodes, each after its dependencies.

    Raises
    ------
    ValueError
        The dependencies have a circle, or there are no nodes.
    """
    if not ends:
        raise ValueError("there is no node to build")
    order: dict[Node, None] = {}
    for end in ends:
        path: dict[Node, Iterator[Node]] = {}  # each node with its dependencies that were not visited yet
        following: Optional[Node] = end
        while following is not None or path:
            if following is not None and following not in order:
                _enter(following, path)
            elif following is None:
                order[path.popitem()[0]] = None
            following = next(next(reversed(path.values())), None) if path else None
    return list(order)


def _enter(node: Node, path: dict[Node, Iterator[Node]]) -> None:
    if not isinstance(node, Node):
        raise TypeError(f"a {type(node).__name__} is given where a node is wanted")
    if node in path:
        circle = [*list(path)[list(path).index(node):], node]
        raise ValueError("nodes depend on each other in a circle: " + " -> ".join(type(each).__name__ for each in circle))
    if None in node.deps:
        raise TypeError("None is given where a node is wanted")
    path[node] = iter(list(node.deps))


def _stream(given: Any) -> Stream:
    if given is None:
        return Device().default_stream
    if isinstance(given, Stream):
        return given
    if hasattr(given, "__cuda_stream__"):
        return Device().create_stream(given)
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, numba
        given = getattr(given, name, given)
    return Stream.from_handle(int(getattr(given, "value", given) or 0))
