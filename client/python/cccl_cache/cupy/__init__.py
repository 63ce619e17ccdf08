# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles CuPy's kernels through the node's daemon.

    >>> import cccl_cache.cupy
    >>> cccl_cache.cupy.install()

After this call, a kernel is compiled once for all processes of this node that use the same headers. While one process
compiles it, the others wait for that compile. CuPy looks in its own disk cache first. The plug-in stays off for releases
of CuPy with which it was not tested. It raises no errors of its own.
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
switch = Switch("cupy", "CCCL_CACHE_CUPY", served_release, Report(__name__, _OUTCOMES), module="cupy")


def install(*, client: Optional[Callable[[], cccl_cache.Client]] = None, wait: float = 120.0) -> bool:
    """Turns the cache on for this process.

    Parameters
    ----------
    client
        Returns the client; called at the first compile. Default: a client that all plug-ins share.
    wait
        Seconds to wait for the daemon before CuPy compiles. After a wait times out, this process waits only one second
        each time, until the daemon answers.

    Returns
    -------
    bool
        Whether the plug-in is on. If not, ``status()["why_off"]`` has the reason.
    """

    def hooks(release: str) -> Hooks:
        from .._plugin.daemon import own_client
        from ._compile import Compiler
        from ._hooks import CupyHooks

        return CupyHooks(Compiler(client or own_client, wait, switch.report))

    return switch.install(hooks)


def uninstall() -> None:
    """Turns the cache off. Existing kernels stay usable."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; ``hits`` (kernels that the daemon had), ``builds`` (kernels that it compiled for this process),
    ``failures`` (sources that do not compile), ``left_to_cupy`` (kernels that CuPy compiled); ``not_cached`` and
    ``errors``: counts of the latter by reason.
    """
    return switch.status()
