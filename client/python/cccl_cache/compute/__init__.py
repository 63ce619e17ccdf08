# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the builds of cuda.compute in the node's daemon.

    >>> import cccl_cache.compute
    >>> cccl_cache.compute.install()

After this call, an algorithm is built once for all processes of this user that use the same types, operators and compute
capability. While one process builds it, the others wait for that build. The plug-in stays off for releases of cuda-cccl
with which it was not tested. It raises no errors of its own.
"""

from __future__ import annotations

from typing import Any

from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Hooks, Switch, installer
from ._release import served_release

__all__ = ["install", "status", "uninstall"]

_OUTCOMES = ("hits", "hits_in_process", "builds", "published")
switch = Switch("cuda.compute", "CCCL_CACHE_COMPUTE", served_release, Report(__name__, _OUTCOMES), module="cuda.compute")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._builds import Builds
    from ._hooks import ComputeHooks

    return ComputeHooks(Builds(settings, release, switch.report))


install = installer(switch, _make_hooks)


def uninstall() -> None:
    """Turns the cache off. Existing algorithms stay usable."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; ``hits`` and ``hits_in_process`` (algorithms that were not built), ``builds``, ``published``;
    ``not_cached`` and ``errors``: counts by reason.
    """
    return switch.status()
