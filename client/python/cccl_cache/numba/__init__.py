# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of numba-cuda in the node's daemon.

    >>> import cccl_cache.numba
    >>> cccl_cache.numba.install()

From then on a kernel with ``cache=True`` that some process of this user has compiled is not compiled again; while one
process compiles it, the others that need it wait for that. What is compiled for all other kernels goes to the daemon
stage by stage. Off for releases of numba-cuda with which it was not tested. Never raises where numba-cuda would not.
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
switch = Switch("numba-cuda", _VARIABLE, served_release, Report(__name__, _OUTCOMES))


def install(
    *,
    every_kernel: Optional[bool] = None,
    client: Optional[Callable[[], LeaseClient]] = None,
    group: Optional[str] = None,
    wait: float = 120.0,
) -> bool:
    """Turns the cache on for this process.

    `every_kernel` says whether all kernels that are made from now on are kept whole, or those with ``cache=True`` alone.
    Default: those, unless ``CCCL_CACHE_NUMBA=all`` is set. All else is as in ``cccl_cache.compute.install``.
    """
    every = os.environ.get(_VARIABLE) == "all" if every_kernel is None else every_kernel
    return installer(switch, functools.partial(_make_hooks, every))(client=client, group=group, wait=wait)


def _make_hooks(every_kernel: bool, settings: Settings, release: str) -> Hooks:
    from ._hooks import NumbaHooks

    return NumbaHooks(settings, release, switch.report, every_kernel)


def uninstall() -> None:
    """Turns the cache off again. Kernels that were made stay usable."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; ``hits`` (kernels that were not compiled), ``compiles``, ``published``; ``stages_served`` and
    ``stages_compiled`` (calls of the three compilers), ``ptx_left_out`` (compiles that numba would not have used);
    ``links_generated`` and ``links_hit`` (code that objects in kernels bring, see docs/guide-numba-links.md);
    ``not_cached`` and ``errors``: how often, by reason.
    """
    return switch.status()
