# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the compiles of TileLang in the node's daemon.

    >>> import cccl_cache.tilelang
    >>> cccl_cache.tilelang.install()

After this call, a kernel is compiled once for all processes of this user. While one process compiles it, the others wait for
that compile. TileLang's own caches are asked first, and a found kernel is put into TileLang's directory. The plug-in stays
off for releases of TileLang in which it does not find what it changes. It raises no errors of its own.
"""

from __future__ import annotations

from .._plugin.leases import LEASE_LIMIT, Settings
from .._plugin.switch import Hooks, Switch, installed_release, installer
from ..steps._steps import report_of
from ._release import PACKAGE, served_release

__all__ = ["install", "status", "uninstall"]

NAMESPACE = "tilelang"
switch = Switch("TileLang", "CCCL_CACHE_TILELANG", served_release, report_of(NAMESPACE, __name__), module="tilelang",
                find_unimported=lambda: f"{PACKAGE} {installed_release(PACKAGE)}")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import TileLangHooks

    return TileLangHooks(NAMESPACE, settings, switch.report)


install = installer(switch, _make_hooks, LEASE_LIMIT)
status, uninstall = switch.status, switch.uninstall
