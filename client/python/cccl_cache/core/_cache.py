# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A ProgramCacheResource in the daemon: one process compiles a program, and the others wait for it."""

from __future__ import annotations

import grp
import logging
import threading
from typing import Any, Callable, Optional, Union

from cuda.core.utils import ProgramCacheResource

from .._circuit_breaker import CircuitBreaker
from .._plugin.daemon import own_client

Key = Union[bytes, str]

NAMESPACE = "cuda.core"
_logger = logging.getLogger("cccl_cache.core")


class ProgramCache(ProgramCacheResource):  # type: ignore[misc, unused-ignore]
    """Keeps the results of ``Program.compile(cache=)`` in the node's daemon, for all processes of this user. Thread-safe.

    The first process that asks for a missing key gets its lease. The other processes wait until the key is stored. A
    lease ends when the key is stored, after `compile_limit`, or with the process. It also ends when its thread asks for
    another key, because the compile has failed then. Without a daemon, every key is missing and nothing is kept.

    Parameters
    ----------
    client
        Returns the client; called at the first use. Default: a client that the whole process shares.
    group
        The name of a Unix group whose members share the entries. Default: this user alone.
    wait
        Seconds to wait for another process's compile of a program. After a wait times out, this object waits only one
        second each time, until the daemon answers.
    compile_limit
        Seconds after which a lease is given up.
    """

    def __init__(
        self,
        *,
        client: Optional[Callable[[], Any]] = None,
        group: Optional[str] = None,
        wait: float = 120.0,
        compile_limit: float = 120.0,
    ):
        self._connect = client or own_client
        self._group = group
        self._breaker = CircuitBreaker(wait)
        self._compile_limit = compile_limit
        self._lock = threading.Lock()
        self._client: Any = None
        self._held: dict[int, _Held] = {}
        self._unanswered: dict[int, bytes] = {}
        self._known: set[bytes] = set()

    def __getitem__(self, key: Key) -> bytes:
        """Returns the stored bytes. Before it raises KeyError, it gets the lease to make them, if the daemon answers."""
        name = _bytes_of(key)
        self._give_up()
        held = self._acquire(name)
        if held is not None and held.contents is not None:
            held.leave()
            self._known.add(name)
            return held.contents
        with self._lock:
            if held is None:
                self._unanswered[threading.get_ident()] = name
            else:
                held.limit(self._compile_limit)
                self._held[threading.get_ident()] = held
        raise KeyError(key)

    def __setitem__(self, key: Key, value: Any) -> None:
        """Stores a program, unless the key has one. Does nothing if the daemon did not answer the earlier look-up of the
        key."""
        name, contents = _bytes_of(key), _contents_of(value)
        with self._lock:
            held = self._held.pop(threading.get_ident(), None)
            if self._unanswered.pop(threading.get_ident(), None) == name:
                return
        if held is not None and (held.key != name or held.over):
            held.leave()
            held = None
        if held is None:
            held = self._acquire(name)
        if held is not None:
            held.publish(contents)
            self._known.add(name)

    def __delitem__(self, key: Key) -> None:
        """Removes this user's program, for every process.

        Raises KeyError if there is no program, if another member of the group stored it, or if the daemon does not
        answer.
        """
        self._give_up()
        held = self._acquire(_bytes_of(key))
        if held is None:
            raise KeyError(key)
        held.leave()
        if held.contents is None or not self._client.remove_deposit(held.deposit):
            raise KeyError(key)
        self._known.discard(held.key)

    def __len__(self) -> int:
        """Returns the number of entries that this object got or stored."""
        return len(self._known)

    def clear(self) -> None:
        """Removes all of this user's programs, for every process: the private programs, or with a group those of the group."""
        self._give_up()
        self._known.clear()
        try:
            gid = _number_of(self._group)
            client = self._connected()
            for deposit in client.deposits():
                if deposit.namespace == NAMESPACE and deposit.gid == gid:
                    client.remove_deposit(deposit.key)
        except Exception as error:
            _logger.info("not removed: %s", error)

    def close(self) -> None:
        """Gives up all leases."""
        with self._lock:
            held, self._held = list(self._held.values()), {}
        for each in held:
            each.leave()

    def _give_up(self) -> None:
        with self._lock:
            held = self._held.pop(threading.get_ident(), None)
            self._unanswered.pop(threading.get_ident(), None)
        if held is not None:
            held.leave()

    def _connected(self) -> Any:
        if self._client is None:
            self._client = self._connect()
        return self._client

    def _acquire(self, name: bytes) -> Optional[_Held]:
        try:
            entered = self._connected().lease(
                NAMESPACE, {"key": name}, group=self._group, timeout=self._breaker.seconds
            )
            held = _Held(name, entered, entered.__enter__())
        except Exception as error:
            self._breaker.failed(error)
            _logger.info("not cached: %s", error)
            return None
        self._breaker.answered()
        return held


class _Held:
    """A lease from the look-up of a missing key to the store of its program. It ends once."""

    def __init__(self, key: bytes, entered: Any, lease: Any):
        self.key = key
        self.contents: Optional[bytes] = None if lease.contents is None else bytes(lease.contents)
        self.deposit = lease.key
        self._entered = entered
        self._lease = lease
        self._lock = threading.Lock()
        self._over = False
        self._timer: Optional[threading.Timer] = None

    @property
    def over(self) -> bool:
        """Returns whether the lease has ended."""
        with self._lock:
            return self._over

    def limit(self, seconds: float) -> None:
        """Ends the lease after so many seconds, because cuda.core does not report a failed compile to its cache."""
        self._timer = threading.Timer(seconds, self.leave)
        self._timer.daemon = True
        self._timer.start()

    def publish(self, contents: bytes) -> None:
        """Stores the contents, unless the lease has ended or the key has contents. Ends the lease."""
        with self._lock:
            if not self._over and self.contents is None:
                try:
                    self._lease.publish(contents)
                except Exception as error:
                    _logger.info("not kept: %s", error)
        self.leave()

    def leave(self) -> None:
        """Ends the lease."""
        with self._lock:
            if self._over:
                return
            self._over = True
            try:
                self._entered.__exit__(None, None, None)
            except Exception as error:
                _logger.info("lease not ended: %s", error)
        if self._timer is not None:
            self._timer.cancel()


def _bytes_of(key: Key) -> bytes:
    return key.encode() if isinstance(key, str) else bytes(key)


def _contents_of(value: Any) -> bytes:
    code = getattr(value, "code", value)
    if isinstance(code, str):
        with open(code, "rb") as file:
            return file.read()
    return bytes(code)


def _number_of(group: Optional[str]) -> Optional[int]:
    if group is None:
        return None
    return int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
