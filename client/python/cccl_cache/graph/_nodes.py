# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes of a graph. A node holds the caller's values, which may be edited before a build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional

if TYPE_CHECKING:
    from ._graph import Graph


class Node:
    """A step of a graph.

    Attributes
    ----------
    deps : list of Node
        The nodes that must end before this node begins.
    """

    def __init__(self, deps: Optional[Iterable[Node]] = None) -> None:
        self.deps: list[Node] = list(deps or ())

    def build(self, *, client: Any = None) -> Graph:
        """Makes a graph of this node and of all its dependencies. See `cccl_cache.graph.build`."""
        from ._graph import build

        return build(self, client=client)


class _Configured:
    """`KernelNode` with a launch configuration."""

    def __init__(self, configuration: Any) -> None:
        self._configuration = configuration if isinstance(configuration, tuple) else (configuration,)
        if len(self._configuration) not in (2, 4):
            raise ValueError("a kernel is configured by KernelNode[grid, block] or by KernelNode[grid, block, stream, "
                             f"shared memory], not by {len(self._configuration)} values")

    def __call__(self, kernel: Any, args: Optional[Iterable[Any]] = None, deps: Optional[Iterable[Node]] = None,
                 params: Optional[Mapping[str, Any]] = None, *, name: Optional[str] = None) -> KernelNode:
        grid, block, *rest = self._configuration
        given = {"gridDim": grid, "blockDim": block, **({"sharedMem": rest[1]} if rest else {})}
        return KernelNode(kernel, args, deps, {**given, **(params or {})}, name=name)


class KernelNode(Node):
    """Launches a kernel. ``KernelNode[grid, block](kernel, args, deps)`` configures the launch as numba does.

    Parameters
    ----------
    kernel
        A kernel of numba-cuda, a plain function for numba-cuda, a ``cuda.core.Kernel``, a `cccl_cache.Result`, or a
        `cccl_cache.Build` or ``Link`` that is built with the graph.
    args : iterable, optional
        The arguments of the kernel: arrays on the device and scalars.
    deps : iterable of Node, optional
    params : mapping, optional
        ``gridDim``, ``blockDim`` and ``sharedMem`` (bytes of dynamic shared memory). Default: one thread.
    name : str, optional
        The name of the kernel in a build: a name expression, or the name of an ``extern "C"`` kernel. Default: the only
        name expression of the build.
    """

    def __class_getitem__(cls, configuration: Any) -> _Configured:
        return _Configured(configuration)

    def __init__(self, kernel: Any, args: Optional[Iterable[Any]] = None, deps: Optional[Iterable[Node]] = None,
                 params: Optional[Mapping[str, Any]] = None, *, name: Optional[str] = None) -> None:
        super().__init__(deps)
        _check_params(params, ("gridDim", "blockDim", "sharedMem"))
        self.kernel = kernel
        self.args: list[Any] = list(args or ())
        self.name = name
        self.params: dict[str, Any] = {"gridDim": 1, "blockDim": 1, "sharedMem": 0, **(params or {})}


class _CopyNode(Node):
    # Whether the destination and the source are on the host. None: either side.
    to_host: Optional[bool] = None
    from_host: Optional[bool] = None

    def __init__(self, dst: Any, src: Any, size: Optional[int] = None, deps: Optional[Iterable[Node]] = None) -> None:
        super().__init__(deps)
        self.dst, self.src, self.size = dst, src, size


class MemcpyNode(_CopyNode):
    """Copies contiguous memory to contiguous memory; each side is on the device or on the host.

    Parameters
    ----------
    dst, src
        An array of any library, a ``cuda.core.Buffer``, a buffer of Python, or the address of memory that the device can
        access.
    size : int, optional
        Bytes to copy. Default: the size of both sides, which must be equal.
    """


class MemcpyHtoDNode(_CopyNode):
    """Copies memory of the host, pinned or not, to the device. The node reads the memory when it runs.

    The parameters are those of `MemcpyNode`; the source may be any address on the host.
    """

    to_host, from_host = False, True


class MemcpyDtoHNode(_CopyNode):
    """Copies memory of the device to the host, to pinned memory or not.

    The parameters are those of `MemcpyNode`; the destination may be any address on the host.
    """

    to_host, from_host = True, False


class MemsetNode(Node):
    """Fills memory of the device.

    Parameters
    ----------
    dst
        An array on the device, a ``cuda.core.Buffer``, or an address.
    size : int, optional
        Bytes to fill. Default: all.
    value : int
        The value of each element.
    params : mapping, optional
        ``elemSize``: bytes of an element, 1, 2 or 4. Default: 1.
    """

    def __init__(self, dst: Any, size: Optional[int] = None, value: int = 0, deps: Optional[Iterable[Node]] = None,
                 params: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(deps)
        _check_params(params, ("elemSize",))
        self.dst, self.size, self.value = dst, size, value
        self.params: dict[str, Any] = {"elemSize": 1, **(params or {})}


class HostNode(Node):
    """Calls ``function(*args)`` on the host, on a thread of the driver. The function must not call CUDA.

    An error of the function is logged, and the graph's next `launch` or `update` raises it.
    """

    def __init__(self, function: Callable[..., object], args: Optional[Iterable[Any]] = None,
                 deps: Optional[Iterable[Node]] = None) -> None:
        super().__init__(deps)
        self.function = function
        self.args: list[Any] = list(args or ())


class EmptyNode(Node):
    """Does nothing. Joins the dependencies of several nodes."""


def _check_params(params: Optional[Mapping[str, Any]], known: tuple[str, ...]) -> None:
    for name in params or ():
        if name not in known:
            raise ValueError(f"params has no {name!r}; it has {', '.join(known)}")
