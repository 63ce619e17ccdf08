# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of Triton in the node's daemon.

    >>> import cccl_cache.triton
    >>> cccl_cache.triton.install()

The same as ``TRITON_CACHE_MANAGER=cccl_cache.triton:CacheManager`` in the environment, which Triton itself reads. From
then on a kernel that some process of this user has compiled is not compiled again; while one process compiles it, others
that need it wait for that. Triton's own directory stays in front, in Triton's own layout. Off for releases of Triton with
which it was not tested. Never raises where Triton would not.

``CCCL_CACHE_TRITON_GROUP`` names a Unix group whose members share kernels; ``CCCL_CACHE_TRITON_WAIT`` bounds, in seconds,
how long another process' compile is waited for (120). Both are read at the first compile of a process.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from .._plugin.report import Report
from .._plugin.switch import NotServed, Switch, tested_release

__all__ = ["install", "status", "uninstall"]  # and CacheManager, which needs Triton

TESTED = ("3.6.0", "3.9.0")
VARIABLE = "TRITON_CACHE_MANAGER"
_NAME = f"{__name__}:CacheManager"
_OUTCOMES = ("hits", "hits_local", "builds", "published", "released")


class _Hooks:
    """Names the manager to Triton, in this process and in those that it starts."""

    def attach(self) -> None:
        os.environ[VARIABLE] = _NAME

    def detach(self) -> None:
        if os.environ.get(VARIABLE) == _NAME:
            del os.environ[VARIABLE]


def _find() -> str:
    release = tested_release("triton", TESTED)
    other = os.environ.get(VARIABLE, _NAME)
    if other != _NAME:
        raise NotServed(f"{VARIABLE} is {other}")
    return f"triton {release}"


switch = Switch("triton", "CCCL_CACHE_TRITON", _find, Report(__name__, _OUTCOMES))


def install() -> bool:
    """Turns the cache on for this process and those that it starts. Before torch compiles anything, so that its workers
    have it too.

    Returns
    -------
    bool
        Whether it is on. If not, ``status()["why_off"]`` says why.
    """
    return switch.install(lambda release: _Hooks())


def uninstall() -> None:
    """Turns the cache off again. Kernels that were compiled stay in Triton's directory."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process. Those of torch's compile workers are their own; the daemon counts for all.

    ``on``, ``why_off``; ``hits`` (from the daemon), ``hits_local`` (in Triton's directory), ``builds``, ``published``,
    ``released`` (another process' compile failed, and this one compiled for itself); ``not_cached`` and ``errors``: how
    often, by reason.
    """
    return switch.status()


def __getattr__(name: str) -> Any:
    """The manager, when Triton asks for it: Triton's own where this one must stay off."""
    if name != "CacheManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _manager_class()


@functools.lru_cache(maxsize=None)
def _manager_class() -> Any:
    import triton
    from triton.runtime.cache import FileCacheManager

    if not install():
        return FileCacheManager
    if triton.__version__ not in TESTED:  # not the one that is installed
        switch.report.not_cached("triton", f"Triton {triton.__version__} was not tested with it")
        return FileCacheManager
    from ._manager import CacheManager

    return CacheManager
