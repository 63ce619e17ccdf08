# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of numba-cuda in the node's daemon.

    >>> import cccl_cache.numba
    >>> cccl_cache.numba.install()

After this call, a kernel with ``cache=True`` is compiled once for all processes of this user. While one process compiles
it, the others wait for that compile. For all other kernels, the daemon serves each call of a compiler library. The plug-in
stays off for releases of numba-cuda with which it was not tested. It raises no errors of its own.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Optional

from .._plugin.leases import LeaseClient, Settings
from .._plugin.report import LINK_OUTCOMES, Report
from .._plugin.switch import Hooks, Switch, installer
from ._release import served_release

__all__ = ["install", "status", "uninstall"]

_VARIABLE = "CCCL_CACHE_NUMBA"
_OUTCOMES = ("hits", "compiles", "published", "stages_served", "stages_compiled", "ptx_left_out", *LINK_OUTCOMES)
switch = Switch("numba-cuda", _VARIABLE, served_release, Report(__name__, _OUTCOMES), module="numba.cuda")


def install(
    *,
    every_kernel: Optional[bool] = None,
    client: Optional[Callable[[], LeaseClient]] = None,
    group: Optional[str] = None,
    wait: float = 120.0,
) -> bool:
    """Turns the cache on for this process.

    `every_kernel` is whether to keep all later kernels, as if they had ``cache=True``. Default: whether
    ``CCCL_CACHE_NUMBA=all`` is set. The other parameters are those of ``cccl_cache.compute.install``.
    """
    every = os.environ.get(_VARIABLE) == "all" if every_kernel is None else every_kernel
    return installer(switch, functools.partial(_make_hooks, every))(client=client, group=group, wait=wait)


def _make_hooks(every_kernel: bool, settings: Settings, release: str) -> Hooks:
    from ._hooks import NumbaHooks

    return NumbaHooks(settings, release, switch.report, every_kernel)


def uninstall() -> None:
    """Turns the cache off. Existing kernels stay usable."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; ``hits`` (kernels that were not compiled), ``compiles``, ``published``; ``stages_served`` and
    ``stages_compiled`` (calls of the three compiler libraries), ``ptx_left_out`` (compiles to PTX that were skipped because
    numba does not use them); ``links_generated`` and ``links_hit`` (code of objects in kernels, see
    docs/guide-numba-links.md); ``not_cached`` and ``errors``: counts by reason.
    """
    return switch.status()
