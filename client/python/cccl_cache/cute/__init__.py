# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the compiles of CuTe DSL in the node's daemon.

    >>> import cccl_cache.cute
    >>> cccl_cache.cute.install()

After this call, a function is compiled once for all processes of this user, whether it is called or given to
``cute.compile``, which uses no cache by itself. While one process compiles it, the others wait for that compile. CuTe DSL's
own caches are asked first where it has them. The plug-in stays off for releases of CuTe DSL in which it does not find what
it changes. It raises no errors of its own.
"""

from __future__ import annotations

from .._plugin.leases import LEASE_LIMIT, Settings
from .._plugin.switch import Hooks, Switch, installed_release, installer
from ..steps._steps import report_of
from ._release import PACKAGE, served_release

__all__ = ["install", "status", "uninstall"]

NAMESPACE = "cute"
switch = Switch("CuTe DSL", "CCCL_CACHE_CUTE", served_release, report_of(NAMESPACE, __name__), module="cutlass",
                find_unimported=lambda: f"{PACKAGE} {installed_release(PACKAGE)}")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import CuteHooks

    return CuteHooks(NAMESPACE, settings, switch.report)


install = installer(switch, _make_hooks, LEASE_LIMIT)
status, uninstall = switch.status, switch.uninstall
