# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The changes to numba-cuda: functions ask for their kernels first, and the daemon serves the compiler libraries."""

from __future__ import annotations

import functools
from typing import Any, Callable

from numba.cuda.core.errors import NumbaWarning
from numba.cuda.cudadrv import driver, nvrtc, nvvm
from numba.cuda.dispatcher import CUDADispatcher

from .._numba.compiler_stages import CompilerStages
from .._numba.link_lists import NAMESPACE as LINKS
from .._plugin.canonical import Refused
from .._plugin.leases import Deposits, Settings
from .._plugin.switch import Patches
from .._plugin.report import Report
from . import _library, _warnings
from ._kernels import KernelCache, Kernels
from ._key import NAMESPACE
from ._links import LinkHooks
from ._together import others_compile
from ._values import VALUES


class NumbaHooks:
    """Makes and undoes the changes. For one thread at a time."""

    def __init__(self, settings: Settings, release: str, report: Report, every_kernel: bool):
        self._kernels = Kernels(Deposits(NAMESPACE, settings, report), release, report)
        self._stages = CompilerStages(settings.connect, settings.wait, report, others_compile)
        self._links = LinkHooks(release, report, Deposits(LINKS, settings, report))
        self._report = report
        self._every_kernel = every_kernel
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Existing functions keep their cache."""
        self._links.attach()
        self._patches.afterwards(self._links.detach)
        replace = self._patches.replace
        replace(CUDADispatcher, "enable_caching", self._enabling())
        replace(NumbaWarning, "__init__", _warnings.noting(NumbaWarning.__init__))
        replace(CUDADispatcher, "compile", _asking(CUDADispatcher.compile))
        replace(CUDADispatcher, "compile_device", _noting(CUDADispatcher.compile_device))
        self._stages.attach(self._patches, nvvm, nvrtc, driver)
        _library.attach(self._patches, self._report)
        if self._every_kernel:
            replace(CUDADispatcher, "__init__", self._constructor(CUDADispatcher.__init__))

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()

    def _enabling(self) -> Callable[..., Any]:
        def enable_caching(dispatcher: Any) -> None:
            dispatcher._cache = KernelCache(dispatcher, self._kernels, asked_for=True)

        return enable_caching

    def _constructor(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def __init__(dispatcher: Any, *args: Any, **kwargs: Any) -> None:
            original(dispatcher, *args, **kwargs)
            dispatcher._cache = KernelCache(dispatcher, self._kernels, asked_for=False)

        return __init__


def _asking(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(dispatcher: Any, signature: Any) -> Any:
        if not isinstance(dispatcher._cache, KernelCache):
            return original(dispatcher, signature)
        with dispatcher._cache.asking(signature):
            return original(dispatcher, signature)

    return compile


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Records the state of a device function at its compile, because the function keeps that code."""

    @functools.wraps(original)
    def compile_device(dispatcher: Any, args: Any, return_type: Any = None) -> Any:
        if args not in dispatcher.overloads:
            try:
                VALUES.describe(dispatcher, VALUES.walk())
            except Refused:
                pass  # the kernels that call the function are refused, with the reason
            except Exception:
                pass
        return original(dispatcher, args, return_type)

    return compile_device
