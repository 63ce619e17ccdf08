# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Deposits that processes share. One process makes a deposit under a lease while the others wait for it.

The envelope of a deposit has a digest, which detects a damaged deposit:

    envelope = "CCCLPYB1" sha256(key ‖ contents)(32) contents(to the end)
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import threading
import weakref
from typing import Any, Callable, ContextManager, Iterable, Iterator, Mapping, NamedTuple, Optional, Protocol, TypeVar

from .._circuit_breaker import CircuitBreaker
from .daemon import own_client
from .report import Report

_MAGIC = b"CCCLPYB1"
_HEADER = len(_MAGIC) + 32
_BRIEFLY = 1.0  # seconds for calls whose result no caller needs
LEASE_LIMIT = 1200.0  # seconds: kLeaseLimit of proto/lease_limit.h
_Made = TypeVar("_Made")


class Lease(Protocol):
    """The part of cccl_cache.Lease that is used here."""

    contents: Optional[bytes]
    key: str

    @property
    def released(self) -> bool: ...

    def publish(self, contents: bytes) -> None: ...

    def fail(self) -> None: ...


class LeaseClient(Protocol):
    """The part of cccl_cache.Client that is used here."""

    def lease(
        self, namespace: str, fields: Mapping[str, Any], *, group: Optional[str], timeout: Optional[float], replace: bool,
        wait_only: bool, released_at_limit: bool,
    ) -> ContextManager[Lease]: ...

    def touch_deposits(
        self, namespace: str, deposits: Iterable[Mapping[str, Any]], *, group: Optional[str], timeout: Optional[float]
    ) -> None: ...

    def remove_deposit(self, key: str, *, timeout: Optional[float]) -> bool: ...


class Settings(NamedTuple):
    """The settings of a plug-in. `wait` is the longest wait for another process's deposit, in seconds."""

    connect: Callable[[], LeaseClient] = own_client
    group: Optional[str] = None
    wait: float = 120.0


class Key(NamedTuple):
    """The key of a deposit. The daemon gets the `fields`. Tables of this process use the `digest` of the fields."""

    fields: dict[str, str]
    digest: str


class _Turn:
    """The lock of the threads that want one deposit. The last of them removes it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.threads = 0


class Deposits:
    """The deposits of one namespace. Thread-safe. No call raises an error of the daemon."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._namespace = namespace
        self._settings = settings
        self._report = report
        self.renew_turns()
        _all.add(self)
        self._client: Optional[LeaseClient] = None
        self._breaker = CircuitBreaker(settings.wait)

    @contextlib.contextmanager
    def turn(self, digest: str) -> Iterator[None]:
        """Lets one thread of this process at a time run its block for the digest of a key."""
        with self._lock:
            turn = self._turns.setdefault(digest, _Turn())
            turn.threads += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.threads -= 1
                if turn.threads == 0 and self._turns.get(digest) is turn:
                    del self._turns[digest]

    def renew_turns(self) -> None:
        """Forgets the turns of all threads."""
        self._lock = threading.Lock()
        self._turns: dict[str, _Turn] = {}

    @contextlib.contextmanager
    def ask(self, key: Key, what: str) -> Iterator["Offer"]:
        """Yields the deposit, or the right to publish it, or neither. `what` is the deposit's name in the log.

        The end of the block gives up a lease that was not published. An error in the block releases all waiters.
        """
        offer = self.open(key, what)
        try:
            yield offer
        except Exception:
            offer.fail()
            raise
        finally:
            offer.close()

    def open(self, key: Key, what: str, *, wait: Optional[float] = None, replace: bool = False,
             wait_only: bool = False, inside: bool = False) -> "Offer":
        """Like `ask`, but not for a `with` statement: the caller must close the returned offer.

        `wait` is the longest wait in seconds. If it passes, later waits do not become shorter. With `replace`, the offer is
        the right to publish another deposit in place of this user's own. With `wait_only`, it is never the right to publish.
        With `inside`, this caller may hold another lease: it does not wait for the end of one of its user's leases.
        """
        return Offer(key, what, self, self._report, wait, replace, wait_only, inside)

    def touch(self, keys: Iterable[Key]) -> bool:
        """Records in the daemon a use of these deposits. Returns False if the daemon does not answer."""
        try:
            self._connected().touch_deposits(
                self._namespace, [key.fields for key in keys], group=self._settings.group, timeout=_BRIEFLY
            )
            return True
        except Exception as error:
            self._report.error("a use", error)
            return False

    def remove(self, lease: Lease, what: str) -> bool:
        """Removes a deposit of this user. Returns whether it was removed."""
        try:
            return self._connected().remove_deposit(lease.key, timeout=_BRIEFLY)
        except Exception as error:
            self._report.error(what, error)
            return False

    def acquire(self, key: Key, what: str, wait: Optional[float], replace: bool,
                wait_only: bool, inside: bool) -> tuple[Any, Optional[Lease]]:
        """Returns an object that ends the lease, and the deposit or its lease. None if the daemon gives neither."""
        seconds = self._breaker.seconds if wait is None else min(wait, self._breaker.seconds)
        try:
            entered = self._connected().lease(
                self._namespace, key.fields, group=self._settings.group, timeout=seconds, replace=replace, wait_only=wait_only,
                released_at_limit=inside
            )
            lease = entered.__enter__()
            self._breaker.answered()
            return entered, lease
        except Exception as error:
            if wait is None:
                self.failed(error)
            self._report.error(what, error)
            return None, None

    def failed(self, error: Exception) -> None:
        """Makes later waits short if a call has shown that the daemon hangs."""
        self._breaker.failed(error)

    def _connected(self) -> LeaseClient:
        if self._client is None:
            self._client = self._settings.connect()
        return self._client


_all: weakref.WeakSet[Deposits] = weakref.WeakSet()


def _renew_all_turns() -> None:
    for deposits in list(_all):
        deposits.renew_turns()


os.register_at_fork(after_in_child=_renew_all_turns)  # threads that are not in the child may have turns


class Offer:
    """The daemon's answer about one key.

    Attributes
    ----------
    contents
        The deposit. None if there is no usable deposit.
    held
        Whether this process holds the lease, so that it may publish.
    released
        Whether the process that held the lease has failed and released all waiters, or, with `wait_only`, no process makes
        the deposit, or, with `inside`, the user holds as many leases as it may.
    """

    def __init__(self, key: Key, what: str, deposits: Deposits, report: Report, wait: Optional[float], replace: bool,
                 wait_only: bool, inside: bool):
        self._key = key
        self._what = what
        self._deposits = deposits
        self._report = report
        self._wait = wait
        self._replace_own = replace
        self._wait_only = wait_only
        self._inside = inside
        self._replaced = False
        self._acquire()

    def _acquire(self) -> None:
        self._entered, lease = self._deposits.acquire(
            self._key, self._what, self._wait, self._replace_own, self._wait_only, self._inside)
        self._lease = lease
        sealed = None if lease is None else lease.contents
        self.contents = None if sealed is None else unpack(self._key.digest, bytes(sealed))
        self.released = lease is not None and lease.released
        self.held = lease is not None and sealed is None and not self.released
        if sealed is not None and self.contents is None:
            self._replace(ValueError("a deposit is damaged"))

    def read(self, parse: Callable[[bytes], _Made]) -> Optional[_Made]:
        """Returns the parsed deposit, or None if this process must make it. If `parse` raises, the deposit is removed and
        this process makes another."""
        while self.contents is not None:
            try:
                return parse(self.contents)
            except Exception as error:
                self._replace(error)
        return None

    def _replace(self, error: Exception) -> None:
        """Removes the deposit and asks the daemon again, once."""
        self._report.error(self._what, error)
        self.contents = None
        if self._replaced or self._lease is None or not self._deposits.remove(self._lease, self._what):
            return
        self._replaced = True
        self.close()
        self._acquire()

    def publish(self, contents: bytes) -> None:
        """Deposits the contents, if the lease is held."""
        if self._lease is None or not self.held:
            return
        try:
            self._lease.publish(pack(self._key.digest, contents))
            self._report.count("published")
        except Exception as error:
            self._deposits.failed(error)
            self._report.error(self._what, error)
        self.held = False

    def fail(self) -> None:
        """Reports that the contents can't be made. All waiters are released at once, and each makes its own."""
        if self._lease is not None and self.held:
            self._end(self._lease.fail)
        self.held = False

    def close(self) -> None:
        """Gives up a lease that was not published. The next waiting process gets it."""
        entered, self._entered = self._entered, None
        if entered is not None:
            self._end(lambda: entered.__exit__(None, None, None))
        self.held = False

    def _end(self, ending: Callable[[], Any]) -> None:
        try:
            ending()
        except Exception as error:
            self._report.error(self._what, error)


def pack(key: str, contents: bytes) -> bytes:
    """Returns the envelope of the contents for the digest of a key."""
    return _MAGIC + _seal(key, contents) + contents


def unpack(key: str, envelope: bytes) -> bytes | None:
    """Returns the contents, or None if the bytes are no envelope, are damaged, or belong to another key."""
    contents = envelope[_HEADER:]
    if not envelope.startswith(_MAGIC) or not hmac.compare_digest(envelope[len(_MAGIC) : _HEADER], _seal(key, contents)):
        return None
    return contents


def _seal(key: str, contents: bytes) -> bytes:
    return hashlib.sha256(key.encode() + contents).digest()
