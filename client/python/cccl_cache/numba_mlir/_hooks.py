# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The changes to numba-cuda-mlir: functions ask for their kernels first, the daemon links, and the code of objects with
``__numba_cuda_link__`` is linked."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable

from numba_cuda_mlir import mlir_compiler
from numba_cuda_mlir.descriptor import MLIRDispatcher, mlir_target
from numba_cuda_mlir.numba_cuda.cudadrv import driver, nvrtc, nvvm

from .._numba.compiler_stages import CompilerStages
from .._numba.link_lists import NAMESPACE as LINKS
from .._plugin.canonical import Refused
from .._plugin.leases import Deposits, Settings
from .._plugin.switch import Patches
from .._plugin.report import Report
from ._kernels import KernelCache, Kernels
from ._key import NAMESPACE
from ._links import LinkHooks
from ._values import VALUES

_thread = threading.local()


class MlirHooks:
    """Makes and undoes the changes. For one thread at a time."""

    def __init__(self, settings: Settings, release: str, report: Report):
        self._kernels = Kernels(Deposits(NAMESPACE, settings, report), release, report)
        self._stages = CompilerStages(settings.connect, settings.wait, report)
        self._links = LinkHooks(release, report, Deposits(LINKS, settings, report))
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Existing functions keep their cache."""
        self._links.attach()
        self._patches.afterwards(self._links.detach)
        self._stages.attach(self._patches, nvvm, nvrtc, driver)
        replace = self._patches.replace
        replace(MLIRDispatcher, "enable_caching", self._enabling())
        for name in ("_compile_impl", "_compile_public"):
            replace(MLIRDispatcher, name, _asking(getattr(MLIRDispatcher, name)))
        device = MLIRDispatcher._compile_device_callee
        replace(MLIRDispatcher, "_compile_device_callee", _noting(device))
        target = type(mlir_target)
        replace(target, "ensure_initialized", _postponed(target.ensure_initialized))
        for name in ("mlir_compiler_entry", "compile_mlir"):
            replace(mlir_compiler, name, _initialized(getattr(mlir_compiler, name)))

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()

    def _enabling(self) -> Callable[..., Any]:
        def enable_caching(dispatcher: Any) -> None:
            dispatcher._cache = KernelCache(dispatcher, self._kernels)

        return enable_caching


def _asking(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(dispatcher: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(dispatcher._cache, KernelCache):
            return original(dispatcher, *args, **kwargs)
        _thread.postponing = True
        try:
            with dispatcher._cache.asking():
                return original(dispatcher, *args, **kwargs)
        finally:
            _thread.postponing = False

    return compile


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Records the state of a device function at its compile, because the function keeps that code."""

    @functools.wraps(original)
    def compile_device(dispatcher: Any, *args: Any, **kwargs: Any) -> Any:
        if not dispatcher.overloads:
            try:
                VALUES.describe(dispatcher, VALUES.walk())
            except Refused:
                pass  # the kernels that call the function are refused, with the reason
            except Exception:
                pass
        return original(dispatcher, *args, **kwargs)

    return compile_device


def _postponed(original: Callable[..., Any]) -> Callable[..., Any]:
    """Postpones the load of the registries of types, which takes a second or more, from the look-up of a kernel to the
    first compile."""

    @functools.wraps(original)
    def ensure_initialized(target: Any) -> None:
        if not getattr(_thread, "postponing", False):
            original(target)

    return ensure_initialized


def _initialized(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(*args: Any, **kwargs: Any) -> Any:
        _thread.postponing = False
        mlir_target.ensure_initialized()
        return original(*args, **kwargs)

    return compile
