# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of numba-cuda-mlir in the node's daemon.

    >>> import cccl_cache.numba_mlir
    >>> cccl_cache.numba_mlir.install()

After this call, a kernel with ``cache=True`` is compiled once for all processes of this user. While one process compiles
it, the others wait for that compile. The daemon links all other kernels, and compiles the CUDA C++ that is linked into
them. The code of objects with ``__numba_cuda_link__`` is linked into the kernels that call them, also without a daemon.
The plug-in stays off for releases of numba-cuda-mlir with which it was not tested.
"""

from __future__ import annotations

from typing import Any

from .._plugin.leases import Settings
from .._plugin.report import LINK_OUTCOMES, Report
from .._plugin.switch import Hooks, Switch, installer
from ._release import served_release

__all__ = ["install", "status", "uninstall"]

_OUTCOMES = ("hits", "compiles", "published", "stages_served", "stages_compiled", *LINK_OUTCOMES)
switch = Switch("numba-cuda-mlir", "CCCL_CACHE_NUMBA_MLIR", served_release, Report(__name__, _OUTCOMES), module="numba_cuda_mlir.cuda")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import MlirHooks

    return MlirHooks(settings, release, switch.report)


install = installer(switch, _make_hooks)


def uninstall() -> None:
    """Turns the cache off. Existing kernels stay usable."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; ``hits`` (kernels that were not compiled), ``compiles``, ``published``; ``stages_served`` and
    ``stages_compiled`` (calls of NVRTC and nvJitLink); ``links_generated`` and ``links_hit`` (code of objects in kernels,
    see docs/guide-numba-links.md); ``not_cached`` and ``errors``: counts by reason.
    """
    return switch.status()
