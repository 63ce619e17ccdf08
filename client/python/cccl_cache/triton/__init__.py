# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of Triton in the node's daemon.

    >>> import cccl_cache.triton
    >>> cccl_cache.triton.install()

The call has the same effect as ``TRITON_CACHE_MANAGER=cccl_cache.triton:CacheManager`` in the environment, which Triton
itself reads. A kernel is then compiled once for all processes of this user. While one process compiles it, the others wait
for that compile. Triton looks in its own directory first, whose layout does not change. The plug-in stays off for releases
of Triton in which it does not find what it needs. It raises no errors of its own.

``CCCL_CACHE_TRITON_GROUP`` names a Unix group whose members share kernels. ``CCCL_CACHE_TRITON_WAIT`` is the longest wait
for another process's compile, in seconds (default 120). A process reads both at its first compile.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable

from .._plugin.report import Report
from .._plugin.switch import NotServed, Switch, installed_release
from ._release import served_release

__all__ = ["install", "status", "uninstall"]  # and CacheManager, which needs Triton

VARIABLE = "TRITON_CACHE_MANAGER"
_NAME = f"{__name__}:CacheManager"
_OUTCOMES = ("hits", "hits_local", "builds", "published", "released")


class _Hooks:
    """Sets Triton's cache manager in this process and in its child processes."""

    def attach(self) -> None:
        os.environ[VARIABLE] = _NAME

    def detach(self) -> None:
        if os.environ.get(VARIABLE) == _NAME:
            del os.environ[VARIABLE]


def _find(find: Callable[[], str] = served_release) -> str:
    other = os.environ.get(VARIABLE, _NAME)
    if other != _NAME:
        raise NotServed(f"{VARIABLE} is {other}")
    return find()


switch = Switch("triton", "CCCL_CACHE_TRITON", _find, Report(__name__, _OUTCOMES), module="triton",
                find_unimported=lambda: _find(lambda: f"triton {installed_release('triton')}"))


def install() -> bool:
    """Turns the cache on for this process and its child processes. Call it before torch compiles anything, so that
    torch's compile workers use the cache too.

    Returns
    -------
    bool
        Whether the plug-in is on. If not, ``status()["why_off"]`` has the reason.
    """
    return switch.install(lambda release: _Hooks())


def uninstall() -> None:
    """Turns the cache off. Compiled kernels stay in Triton's directory."""
    switch.uninstall()


def status() -> dict[str, Any]:
    """Returns the counts of this process, without those of torch's compile workers. The daemon counts for all processes.

    ``on``, ``why_off``; ``hits`` (from the daemon), ``hits_local`` (in Triton's directory), ``builds``, ``published``,
    ``released`` (kernels that this process compiled after another process's compile had failed); ``not_cached`` and
    ``errors``: counts by reason.
    """
    return switch.status()


def __getattr__(name: str) -> Any:
    """Returns the cache manager when Triton looks for it: Triton's own manager if the plug-in must stay off."""
    if name != "CacheManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _manager_class()


@functools.lru_cache(maxsize=None)
def _manager_class() -> Any:
    from triton.runtime.cache import FileCacheManager

    if not install():
        return FileCacheManager
    try:
        from ._manager import CacheManager

        return CacheManager
    except Exception as error:  # a foreign package may raise any error
        switch.report.error("triton", error)
        return FileCacheManager
