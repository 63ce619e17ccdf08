# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles CuPy's kernels through the node's daemon.

    >>> import cccl_cache.cupy
    >>> cccl_cache.cupy.install()

From then on a kernel that any process of this node has compiled with the same headers is not compiled again; while one
process compiles it, others that need it wait for that compile. CuPy's own disk cache stays in front. Off for releases of
CuPy with which it was not tested. Never raises where CuPy would not.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from .._plugin.report import Report
from .._plugin.switch import Hooks, Switch
from ._release import served_release

TYPE_CHECKING = False
if TYPE_CHECKING:
    import cccl_cache

__all__ = ["install", "status", "uninstall"]

_OUTCOMES = ("hits", "builds", "failures", "left_to_cupy")
switch = Switch("cupy", "CCCL_CACHE_CUPY", served_release, Report(__name__, _OUTCOMES))


def install(*, client: Optional[Callable[[], cccl_cache.Client]] = None, wait: float = 120.0) -> bool:
    """Turns the cache on for this process.

    Parameters
    ----------
    client
        Makes the client that is used, at the first compile. Default: one that all plug-ins share.
    wait
        Seconds for which the daemon is waited for before CuPy compiles here. Once that was in vain this process waits
        for a second each time, until the daemon answers.

    Returns
    -------
    bool
        Whether it is on. If not, ``status()["why_off"]`` says why.
    """

    def hooks(release: str) -> Hooks:
        from .._plugin.daemon import own_client
        from ._compile import Compiler
        from ._hooks import CupyHooks

        return CupyHooks(Compiler(client or own_client, wait, switch.report))

    return switch.install(hooks)


def uninstall() -> None:
    """Turns the cache off again. Kernels that were made stay usable."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; ``hits`` (another process compiled it), ``builds`` (the daemon compiled it for this one),
    ``failures`` (it does not compile), ``left_to_cupy``; ``not_cached`` and ``errors``: how often and why CuPy compiled.
    """
    return switch.status()
