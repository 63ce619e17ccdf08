# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the compiles of torch.compile in the node's daemon.

    >>> import cccl_cache.torch
    >>> cccl_cache.torch.install()

After this call, Inductor makes a graph once for all processes of this user, and a library of host C++ too. While one process
makes it, the others wait. torch's own directories are asked first. The plug-in changes no setting of torch, and stays off
where a program has set one of the remote caches or has turned a cache off. The plug-in stays off for releases of torch in
which it does not find what it changes. It raises no errors of its own.
"""

from __future__ import annotations

from typing import Any

from .._plugin.leases import LEASE_LIMIT, Settings
from .._plugin.switch import Hooks, Switch, installed_release, installer
from ..steps._steps import report_of
from ._release import COMPILER, PACKAGE, served_release

__all__ = ["install", "status", "uninstall"]

NAMESPACE = "torch"
switch = Switch("torch.compile", "CCCL_CACHE_TORCH", served_release, report_of(NAMESPACE, __name__), module=COMPILER,
                find_unimported=lambda: f"{PACKAGE} {installed_release(PACKAGE)}")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import TorchHooks

    return TorchHooks(NAMESPACE, settings, switch.report)


install = installer(switch, _make_hooks, LEASE_LIMIT)


def uninstall() -> None:
    """Turns the cache off. Compiled functions stay usable."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; the counts of `cccl_cache.steps.counts` (``hits``, ``made``, ...); ``not_cached`` and ``errors``:
    counts by reason.
    """
    return switch.status()
