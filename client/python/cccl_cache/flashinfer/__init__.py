# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the modules that FlashInfer builds in the node's daemon.

    >>> import cccl_cache.flashinfer
    >>> cccl_cache.flashinfer.install()

After this call, a module is built once for all processes of this user, whatever their workspaces. While one process builds
it, the others wait for that build. FlashInfer's file locks and its ahead-of-time modules keep their behaviour. The plug-in
stays off for releases of FlashInfer in which it does not find what it changes. It raises no errors of its own.
"""

from __future__ import annotations

from .._plugin.leases import LEASE_LIMIT, Settings
from .._plugin.switch import Hooks, Switch, installed_release, installer
from ..steps._steps import report_of
from ._release import PACKAGE, served_release

__all__ = ["install", "status", "uninstall"]

NAMESPACE = "flashinfer"
switch = Switch("FlashInfer", "CCCL_CACHE_FLASHINFER", served_release, report_of(NAMESPACE, __name__), module="flashinfer.jit.core",
                find_unimported=lambda: f"{PACKAGE} {installed_release(PACKAGE)}")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import FlashInferHooks

    return FlashInferHooks(NAMESPACE, settings, switch.report)


install = installer(switch, _make_hooks, LEASE_LIMIT)
status, uninstall = switch.status, switch.uninstall
