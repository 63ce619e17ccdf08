# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The change to TileLang: what ``KernelCache.cached`` does after a miss in its own caches is a step.

The value is the directory that TileLang saves. A hit is put into TileLang's own cache directory, from which TileLang loads
it as after a hit of its own.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable, Iterator, NamedTuple, Optional

from .._plugin.canonical import digest
from .._plugin.compile_steps import CompileSteps
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches
from ..steps import pack_tree, unpack_tree
from ._key import Packages, fields_of


class Request(NamedTuple):
    """A kernel that TileLang's own caches do not have. `key` is TileLang's, all others are inputs of the compile."""

    key: str
    context: Any
    pass_configs: Any
    compile_flags: Any
    function: Any


class _NotOnDisk(Exception):
    """Ends a look-up before the compile. `args` has the request."""


class _OfThread(threading.local):
    looks_up = False  # whether a miss must raise _NotOnDisk
    compiles = False  # whether the step's compile runs
    compilers = ""  # the digest of what compiles, in the step
    saved: Optional[bytes] = None  # the directory that this compile has saved
    unknown_cubin = False  # whether this compile got a cubin that other compilers may have made


class TileLangHooks:
    """Makes and undoes the change. For one thread at a time; compiles may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = CompileSteps(namespace, settings, report)
        self._report = report
        self._patches = Patches()
        self._thread = _OfThread()
        self._cubins: dict[str, str] = {}  # that this process has made, with the compilers, by TileLang's keys

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        from tilelang.cache.cuda_binary_cache import CUDABinaryCache
        from tilelang.cache.kernel_cache import KernelCache

        self._packages = Packages()
        self._patches.replace(KernelCache, "cached", self._stepping(KernelCache.cached))
        self._patches.replace(KernelCache, "_load_kernel_from_disk", self._ending(KernelCache._load_kernel_from_disk))
        self._patches.replace(KernelCache, "_write_manifest", self._packing(KernelCache._write_manifest))
        self._patches.replace(CUDABinaryCache, "load", self._noting_found(CUDABinaryCache.load))
        self._patches.replace(CUDABinaryCache, "save", self._noting_made(CUDABinaryCache.save))

    def detach(self) -> None:
        """Undoes the change."""
        self._patches.undo()

    def _stepping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def cached(cache: Any, *given: Any, **named: Any) -> Any:
            def describe() -> dict[str, Any]:
                self._thread.compilers = ""  # those of a refused compile are not known
                fields = fields_of(request, self._packages)
                self._thread.compilers = digest(tuple(sorted((name, fields[name]) for name in fields if name != "key")))
                return fields

            def look_up() -> Any:
                with self._set("looks_up"):
                    return original(cache, *given, **named)

            def compile() -> Any:
                self._thread.saved, self._thread.unknown_cubin = None, False
                with self._set("compiles"):
                    return original(cache, *given, **named)

            def load(value: bytes) -> Any:
                _put(cache, request.key, value)
                try:
                    return look_up()
                except _NotOnDisk:
                    raise ValueError("TileLang can't load the found kernel") from None

            try:
                return look_up()
            except _NotOnDisk as missed:
                request: Request = missed.args[0]
            return self._steps.run(_name(request), describe, compile, lambda made: self._packed(request), load)

        return cached

    def _ending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _load_kernel_from_disk(cache: Any, key: str, backend_context: Any, out_idx: Any = None, pass_configs: Any = None,
                                   compile_flags: Any = None, func: Any = None, verbose: bool = False) -> Any:
            kernel = original(cache, key, backend_context, out_idx, pass_configs, compile_flags, func, verbose)
            if kernel is None and self._thread.looks_up:
                raise _NotOnDisk(Request(key, backend_context, pass_configs, compile_flags, func))
            return kernel

        return _load_kernel_from_disk

    def _noting_found(self, original: Callable[..., Any]) -> Any:
        @functools.wraps(original)
        def load(kind: Any, key: str, compile_format: str) -> Any:
            cubin = original(key, compile_format)
            if cubin is not None and self._thread.compiles and self._cubins.get(key) != self._digest(cubin):
                self._thread.unknown_cubin = True
            return cubin

        return classmethod(load)

    def _noting_made(self, original: Callable[..., Any]) -> Any:
        @functools.wraps(original)
        def save(kind: Any, key: str, compile_format: str, data: Any) -> Any:
            if self._thread.compiles:
                self._cubins[key] = self._digest(data)
            return original(key, compile_format, data)

        return classmethod(save)

    def _digest(self, cubin: Any) -> str:
        return digest((self._thread.compilers, bytes(cubin)))

    def _packing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _write_manifest(cache: Any, cache_path: str) -> Any:
            written = original(cache, cache_path)
            # The final directory may be that of another process, which may have other compilers.
            if self._thread.compiles:
                try:
                    self._thread.saved = pack_tree(cache_path)
                except Exception as error:
                    self._report.error(cache_path, error)
            return written

        return _write_manifest

    @contextlib.contextmanager
    def _set(self, flag: str) -> Iterator[None]:
        before = getattr(self._thread, flag)
        setattr(self._thread, flag, True)
        try:
            yield
        finally:
            setattr(self._thread, flag, before)

    def _packed(self, request: Request) -> Optional[bytes]:
        """Returns the directory of a kernel that was just compiled, or None if others can't use it."""
        saved, self._thread.saved = self._thread.saved, None
        if self._thread.unknown_cubin:  # TileLang's key of it has no compiler
            self._report.not_cached(_name(request), "the cubin is from TileLang's own directory")
            return None
        return saved  # None if TileLang saves nothing now


def _put(cache: Any, key: str, value: bytes) -> None:
    """Puts a found kernel into TileLang's directory."""
    path = cache._get_cache_path(key)
    cache._create_dirs()
    cache._remove_incomplete_cache_dir(path)
    with contextlib.suppress(FileExistsError):  # another process shares the directory
        unpack_tree(value, path, staging=cache._get_staging_root())


def _name(request: Request) -> str:
    return f"kernel {request.key[:16]}"
