# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the kernels that Warp compiles in the node's daemon.

    >>> import cccl_cache.warp
    >>> cccl_cache.warp.install()

After this call, a module of kernels is compiled once for all processes of this user. While one process compiles it, the
others wait for that compile. Warp's own kernel cache is asked first. The plug-in stays off for releases of Warp in which it
does not find what it changes. It raises no errors of its own.
"""

from __future__ import annotations

from .._plugin.leases import LEASE_LIMIT, Settings
from .._plugin.switch import Hooks, Switch, installed_release, installer
from ..steps._steps import report_of
from ._release import PACKAGE, served_release

__all__ = ["install", "status", "uninstall"]

NAMESPACE = "warp"
switch = Switch("Warp", "CCCL_CACHE_WARP", served_release, report_of(NAMESPACE, __name__), module="warp",
                find_unimported=lambda: f"{PACKAGE} {installed_release(PACKAGE)}")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import WarpHooks

    return WarpHooks(NAMESPACE, settings, switch.report)


install = installer(switch, _make_hooks, LEASE_LIMIT)
status, uninstall = switch.status, switch.uninstall
