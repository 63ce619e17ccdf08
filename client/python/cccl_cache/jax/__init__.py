# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the executables of JAX in the node's daemon.

    >>> import cccl_cache.jax
    >>> cccl_cache.jax.install()

After this call, XLA compiles an executable once for all processes of this user, with or without JAX's own compilation cache,
which is asked first. While one process compiles an executable, the others wait for it. The plug-in stays off for releases of
JAX in which it does not find what it changes. It raises no errors of its own.
"""

from __future__ import annotations

from typing import Any

from .._plugin.leases import LEASE_LIMIT, Settings
from .._plugin.switch import Hooks, Switch, installed_release, installer
from ..steps._steps import report_of
from ._release import PACKAGE, served_release

__all__ = ["install", "status", "uninstall"]

NAMESPACE = "jax"
switch = Switch("JAX", "CCCL_CACHE_JAX", served_release, report_of(NAMESPACE, __name__), module="jax",
                find_unimported=lambda: f"{PACKAGE} {installed_release(PACKAGE)}")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import JaxHooks

    return JaxHooks(NAMESPACE, settings, switch.report)


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
