# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client that all plug-ins of a process share, and the time that they wait for a compile."""

from __future__ import annotations

import weakref
from typing import Callable, Optional, TypeVar

import cccl_cache

_Answer = TypeVar("_Answer")
_BRIEFLY = 1.0
# Holds at most one client. A fork could leave a lock held, so there is none: setdefault keeps the first of two clients.
_made: dict[str, cccl_cache.Client] = {}
_silent: weakref.WeakSet[cccl_cache.Client] = weakref.WeakSet()


def own_client() -> cccl_cache.Client:
    """Returns the client for all threads of this process and for its children. The first call makes it.

    Raises
    ------
    NoDaemonError
        No socket may be trusted. The next call looks for a socket again.
    """
    found: Optional[cccl_cache.Client] = _made.get("client")
    return found or _made.setdefault("client", cccl_cache.Client(fallback="error"))


def ask(client: cccl_cache.Client, question: Callable[[], _Answer]) -> _Answer:
    """Runs a call. After a call that timed out, the daemon has one second to answer a short question first.

    A daemon that hangs thus costs a process the timeout of the call once. A build that took too long does not shorten
    the time of the next build. Thread-safe.

    Raises
    ------
    TimeoutError
        There was no answer in time.
    """
    if client in _silent:
        client.health(timeout=_BRIEFLY)
        _silent.discard(client)
    try:
        return question()
    except (TimeoutError, cccl_cache.Error) as error:
        # "unavailable" is the library's error for a daemon that has hung before.
        if isinstance(error, TimeoutError) or error.status == "unavailable":
            _silent.add(client)
        raise
