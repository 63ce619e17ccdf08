# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The kernels of numba-cuda-mlir: deposited in the daemon, or compiled under a lease while others wait.

A deposit is JSON and bytes. Reading a deposit runs none of its contents as Python.

    kernel = length(8, big endian) JSON cubin LTO-IR     the JSON has the kernel's properties and the length of the cubin
"""

from __future__ import annotations

import contextlib
import json
import threading
import weakref
from typing import Any, Iterator, NamedTuple, Optional

from numba_cuda_mlir.caching import CachedCompileResult, MLIRCache, NullCache
from numba_cuda_mlir.numba_cuda import types, typing
from numba_cuda_mlir.numba_cuda.core.sigutils import normalize_signature

from .._numba.link_files import is_cuda_source
from .._plugin.canonical import Refused
from .._plugin.leases import Deposits, Key, Offer
from .._plugin.report import Report
from ._key import kernel_key

_SIZE = 8
_PROPERTIES = ("func_name", "ptx", "mlir_module_optimized", "needs_nrt", "nrt_inline", "use_cooperative")


class Kernels(NamedTuple):
    """The deposits of kernels, with the settings that all functions of a process share."""

    deposits: Deposits
    release: str
    report: Report


class _Compile:
    """A thread's present call of the compiler. `stack` is closed at its end, which gives up the lease."""

    def __init__(self, stack: contextlib.ExitStack):
        self.stack = stack
        self.key: Optional[Key] = None
        self.offer: Optional[Offer] = None


class KernelCache(MLIRCache):  # type: ignore[misc]
    """The cache of the kernels of one function. The compiler calls it before and after a compile.

    The compiler's own file cache serves the kernels that have no key, and all kernels without a daemon.
    """

    def __init__(self, dispatcher: Any, kernels: Kernels):
        # MLIRCache's constructor is not called: it looks for a directory and fails for a function without a file.
        self._dispatcher: Any = weakref.ref(dispatcher)
        self._kernels = kernels
        self._name = dispatcher.py_func.__qualname__
        self._thread = threading.local()
        self._files: Optional[Any] = None

    def __repr__(self) -> str:
        return f"<cccl_cache.numba_mlir cache of {self._name}>"

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Surrounds each call of the compiler for this function."""
        outer = self._compile
        with contextlib.ExitStack() as stack:
            self._thread.compile = _Compile(stack)
            try:
                yield
            finally:
                self._thread.compile = outer

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Returns the kernel, or None if it must be compiled."""
        kernel = None
        compiled = self._compile
        argument_types = tuple(normalize_signature(signature)[0])
        if compiled is not None and not self._dispatcher().targetoptions.get("device"):
            kernel = self._ask(compiled, argument_types)
        if kernel is not None:
            self._kernels.report.count("hits")
            return kernel
        if compiled is None or compiled.offer is None:
            kernel = self._own().load_overload(signature, target_context)
        if kernel is None:
            self._kernels.report.count("compiles")
        return kernel

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Deposits a compiled kernel if this process holds its lease."""
        compiled = self._compile
        try:
            if compiled is None or compiled.offer is None:
                self._own().save_overload(signature, kernel)
                return
            contents = write_kernel(kernel.metadata)
            after = self._key(tuple(normalize_signature(signature)[0]))
            if after != compiled.key:
                raise Refused("what it is compiled from changed meanwhile")
            compiled.offer.publish(contents)
        except Refused as reason:
            self._kernels.report.not_cached(self._name, str(reason))
        except Exception as error:
            self._kernels.report.error(self._name, error)

    @property
    def cache_path(self) -> Any:
        return self._own().cache_path

    def enable(self) -> None:
        self._own().enable()

    def disable(self) -> None:
        self._own().disable()

    def flush(self) -> None:
        self._own().flush()

    @property
    def _compile(self) -> Optional[_Compile]:
        return getattr(self._thread, "compile", None)

    def _own(self) -> Any:
        """Returns the compiler's own file cache of the function."""
        if self._files is None:
            try:
                dispatcher = self._dispatcher()
                self._files = MLIRCache(dispatcher.py_func, dispatcher.targetoptions)
            except RuntimeError:  # the compiler has no directory for this function's files
                self._files = NullCache()
        return self._files

    def _key(self, argument_types: tuple[Any, ...]) -> Key:
        return kernel_key(self._kernels.release, self._dispatcher(), argument_types)

    def _ask(self, compiled: _Compile, argument_types: tuple[Any, ...]) -> Any:
        try:
            compiled.key = self._key(argument_types)
            offer = compiled.stack.enter_context(self._kernels.deposits.ask(compiled.key, self._name))
            kernel = offer.read(lambda contents: read_kernel(contents, argument_types, self._dispatcher()))
            compiled.offer = offer if offer.held else None
            return kernel
        except Refused as reason:
            self._kernels.report.not_cached(self._name, str(reason))
        except Exception as error:
            self._kernels.report.error(self._name, error)
        return None


def write_kernel(metadata: Any) -> bytes:
    """Returns the deposit of a kernel. Raises Refused for a kernel that only this process can use."""
    if metadata.get("setup_callbacks") or metadata.get("teardown_callbacks"):
        raise Refused("it has callbacks, which this process alone has")
    if any(is_cuda_source(item) for item in metadata.get("linked_external_link_items", ())):
        raise Refused("it links CUDA C++, and its headers are in no key")
    cubin = bytes(metadata["cubin"])
    properties = {name: metadata.get(name) for name in _PROPERTIES}
    text = json.dumps({**properties, "cubin": len(cubin)}).encode()
    return len(text).to_bytes(_SIZE, "big") + text + cubin + bytes(metadata.get("ltoir") or b"")


def read_kernel(contents: bytes, argument_types: tuple[Any, ...], dispatcher: Any) -> Any:
    """Returns the kernel of a deposit. Raises ValueError or KeyError for an invalid deposit."""
    start = _SIZE + int.from_bytes(contents[:_SIZE], "big")
    given = json.loads(contents[_SIZE:start])
    end = start + given["cubin"]
    metadata = {name: given[name] for name in _PROPERTIES}
    metadata["use_cooperative"] = bool(metadata["use_cooperative"])
    metadata.update(cubin=contents[start:end], ltoir=contents[end:] or None, targetoptions=dispatcher.targetoptions)
    return CachedCompileResult(typing.signature(types.none, *argument_types), metadata)
