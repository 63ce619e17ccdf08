# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client that all plug-ins of a process share, and how long they wait for a compile."""

from __future__ import annotations

import weakref
from typing import Callable, Optional, TypeVar

import cccl_cache

_Answer = TypeVar("_Answer")
_BRIEFLY = 1.0
# At most one. Without a lock, which a fork could leave held: of clients made at one moment the first is kept.
_made: dict[str, cccl_cache.Client] = {}
_silent: weakref.WeakSet[cccl_cache.Client] = weakref.WeakSet()


def own_client() -> cccl_cache.Client:
    """One for all threads of this process and for its children, made at the first use.

    Raises
    ------
    NoDaemonError
        No socket may be trusted now; the next call looks again.
    """
    found: Optional[cccl_cache.Client] = _made.get("client")
    return found or _made.setdefault("client", cccl_cache.Client(fallback="error"))


def ask(client: cccl_cache.Client, question: Callable[[], _Answer]) -> _Answer:
    """Runs a call. After one that was not answered, the daemon has a second to show that it is alive.

    So a daemon that hangs costs a process the time that the question allows once, and a build that took too long costs
    the next one nothing. Any thread may call it.

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
        # A daemon that is known to hang says nothing for ten seconds: that is "unavailable".
        if isinstance(error, TimeoutError) or error.status == "unavailable":
            _silent.add(client)
        raise
