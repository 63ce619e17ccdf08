# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps what cuda.compute builds in the node's daemon.

    >>> import cccl_cache.compute
    >>> cccl_cache.compute.install()

From then on an algorithm that some process of this user has built for the same types, operators and compute capability
is not built again; while one process builds it, others that need it wait for that build. Off for releases of cuda-cccl
with which it was not tested. Never raises where cuda.compute would not.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional, cast

from ._builds import Builds, LeaseClient, Settings
from ._hooks import Hooks
from ._report import Report, logger, tested_release

__all__ = ["install", "status", "uninstall"]

_lock = threading.Lock()
_report = Report()
_hooks: Optional[Hooks] = None
_why_off: Optional[str] = "install() was not called"


def install(
    *, client: Optional[Callable[[], LeaseClient]] = None, group: Optional[str] = None, wait: float = 120.0
) -> bool:
    """Turns the cache on for this process.

    Parameters
    ----------
    client
        Makes the client that is used, at the first build. Default: ``cccl_cache.Client``.
    group
        The name of a Unix group whose members share these builds. Default: only this user's processes do.
    wait
        Seconds for which another process' build of the same thing is waited for, before building it here. Once that
        was in vain this process waits for a second each time, until the daemon answers.

    Returns
    -------
    bool
        Whether it is on. If not, ``status()["why_off"]`` says why.
    """
    global _hooks, _why_off
    with _lock:
        if _hooks is not None:
            return True
        release, _why_off = tested_release()
        if release is None:
            logger.warning("cuda.compute is not cached: %s", _why_off)
            return False
        settings = Settings(client or _default_client, release, group, wait)
        hooks = Hooks(Builds(settings, _report))
        hooks.attach()
        _hooks = hooks
        return True


def uninstall() -> None:
    """Turns the cache off again. Algorithms that were made stay usable."""
    global _hooks, _why_off
    with _lock:
        if _hooks is not None:
            _hooks.detach()
            _hooks, _why_off = None, "uninstall() was called"


def status() -> dict[str, Any]:
    """Returns the counts of this process.

    ``on``, ``why_off``; ``hits`` and ``hits_in_process`` (not built), ``builds``, ``published``; ``not_cached`` and
    ``errors``: how often, by reason.
    """
    return {"on": _hooks is not None, "why_off": None if _hooks is not None else _why_off, **_report.snapshot()}


def _default_client() -> LeaseClient:
    import cccl_cache

    return cast(LeaseClient, cccl_cache.Client())
