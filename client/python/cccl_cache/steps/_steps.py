# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Steps over leases and deposits.

    deposit = microseconds of the build(8, little endian) value(to the end)

The deposit lies in the envelope of _plugin/leases.py, which detects damage.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from types import TracebackType
from typing import Any, Callable, Mapping, Optional

from .. import _library
from .._plugin.canonical import Refused, digest
from .._plugin.daemon import own_client
from .._plugin.leases import LEASE_LIMIT, Deposits, Key, LeaseClient, Offer, Settings
from .._plugin.report import Report
from ._flights import Made, Seat, enter, find, leads_another

_FORMAT = 1
_HEAD = 8
_LONGEST_NAMESPACE = 128  # bytes: the daemon's limit
_BRIEFLY = 1.0  # seconds to wait for a lease to deposit a value that is there already
_OUTCOMES = ("hits", "made", "published", "released", "failed", "expired", "hit_bytes", "made_bytes", "waited_seconds",
             "saved_seconds")
_reports: dict[str, Report] = {}


def report_of(namespace: str, logger: str = "cccl_cache.steps") -> Report:
    """Returns the counts of a namespace in this process. The first call names the logger."""
    return _reports.get(namespace) or _reports.setdefault(namespace, Report(logger, _OUTCOMES))


def counts() -> dict[str, dict[str, Any]]:
    """Returns the counts of this process by namespace.

    ``hits`` (values that were found), ``made`` (values that this process made), ``published`` (of these, those that the
    daemon has accepted), ``released`` (steps that another process failed to make while this process waited, and steps
    inside a build for which the user may hold no further lease), ``failed`` (builds that raised an error), ``expired``
    (steps that took longer than `hold`); ``hit_bytes``, ``made_bytes``; ``waited_seconds`` (for answers of the daemon and
    of other threads, thus for other processes too) and ``saved_seconds`` (that the builds of the hits took, less the wait
    for them); ``errors``: counts by reason.
    ``not_cached`` has the reasons of adapters.
    """
    return {namespace: report.snapshot() for namespace, report in list(_reports.items())}


class Steps:
    """The steps of one namespace. Thread-safe, and usable after a fork.

    Parameters
    ----------
    namespace : str
        The program that defines the fields: ``"org.example.tool"``. 1 to 128 bytes.
    group : str, optional
        The name or number of a Unix group whose members share the values, and so run each other's code if a value has
        code. Default: the values belong to the user alone.
    wait : float
        The longest wait for another process or thread that makes the same value, in seconds. After that, the caller makes
        it. The next waits for processes are short, until the daemon answers.
    hold : float
        How long this process may keep others waiting for a value, in seconds. After that they are released, and each makes
        its own. Choose more than the longest build takes. The daemon's ``lease_limit`` (20 minutes) is the upper bound.
    client : callable, optional
        Returns the client; called at the first step. Default: a client that all steps and plug-ins share.
    """

    def __init__(self, namespace: str, *, group: Optional[str] = None, wait: float = LEASE_LIMIT, hold: float = LEASE_LIMIT,
                 client: Optional[Callable[[], LeaseClient]] = None) -> None:
        _library.check_type("namespace", "a str", namespace, str)
        _library.check_type("group", "a str", group, str, type(None))
        _library.check_type("wait", "a number of seconds", wait, int, float)
        _library.check_type("hold", "a number of seconds", hold, int, float)
        if not 1 <= len(namespace.encode()) <= _LONGEST_NAMESPACE:
            raise ValueError(f"namespace must have 1 to {_LONGEST_NAMESPACE} bytes, not {len(namespace.encode())}")
        self._namespace, self._group = namespace, group
        self._wait, self._hold = min(wait, threading.TIMEOUT_MAX), min(hold, threading.TIMEOUT_MAX)
        self._report = report_of(namespace)
        self._deposits = Deposits(namespace, Settings(client or own_client, group, self._wait), self._report)

    def __repr__(self) -> str:
        return f"<cccl_cache.steps.Steps {self._namespace}>"

    def make(self, fields: Mapping[str, Any], build: Callable[[], bytes]) -> bytes:
        """Returns the value of a step. Calls `build` if neither the daemon nor another thread has the value.

        A build may make other steps. If it makes the same step again, the inner step is built without the daemon.

        Parameters
        ----------
        fields : mapping
            All inputs on which the value depends, by name, in any order. A value is a str, bytes, int, float, bool, None
            or a tuple of these. ``1`` and ``"1"`` differ. Fields of any size are hashed.
        build : callable
            Returns the value. If it raises an error, all waiting processes and threads are released, and each makes the
            value itself. The error is raised unchanged.

        Returns
        -------
        bytes

        Raises
        ------
        TypeError
            A field has another type, or the built value is not bytes.
        """
        with self.get(fields) as step:
            if step.value is None:
                step.put(build())
            assert step.value is not None
            return step.value

    def get(self, fields: Mapping[str, Any], *, replace: bool = False) -> Step:
        """Returns the value of a step, or the right to make it.

        For a program that learns of the build's end elsewhere. If the right is not used within `hold` seconds, it ends.

        Parameters
        ----------
        fields
            As in `make`.
        replace : bool
            Return the right to make another value in place of one that this user has deposited, for a value that this
            program can't use. Others get the old value until `Step.put`. Ignored for a value of another user of the
            group or from another node.

        Returns
        -------
        Step

        Examples
        --------
        >>> with steps.get(fields) as step:
        ...     if step.value is None:
        ...         step.put(build())
        """
        while True:
            step = self._enter(fields, replace)
            try:
                if step._open():
                    return step
            except BaseException:
                step.close()
                raise

    def wait(self, fields: Mapping[str, Any]) -> Optional[bytes]:
        """Returns the value of a step if there is one, or if another process or thread makes it now. Makes nothing.

        For processes that must not keep others waiting, because their build may wait for those.

        Parameters
        ----------
        fields
            As in `make`.

        Returns
        -------
        bytes or None
            None if there is no value and no other caller makes it, or if its build fails or takes longer than `wait`.
        """
        key = _key(fields)
        seat = find((self._namespace, self._group, key.digest))
        began = time.monotonic()
        if seat.nested:
            return None
        if seat.flight is not None:
            made = seat.flight.wait(self._wait)
        else:
            offer = self._deposits.open(key, self._namespace, wait_only=True)
            made = offer.read(_unpack)
            offer.close()
        self._note(made, began)
        return made.value if made else None

    def _enter(self, fields: Mapping[str, Any], replace: bool) -> Step:
        key = _key(fields)
        return Step(self, key, enter((self._namespace, self._group, key.digest)), replace)

    def _note(self, made: Optional[Made], began: float) -> None:
        """Counts a look-up that began at this time."""
        waited = time.monotonic() - began
        self._report.count("waited_seconds", waited)
        if made is not None:
            self._report.count("hits")
            self._report.count("hit_bytes", len(made.value))
            self._report.count("saved_seconds", max(0.0, made.seconds - waited))


class Step:
    """The value of a step, or the right to make it. `Steps.get` returns it. For one thread at a time, but for any thread.

    The end of its ``with`` block gives the right up, after an error as `fail` does.

    Attributes
    ----------
    value : bytes or None
        The value. None if this program must make it and then call `put`, `fail` or `close`.
    """

    def __init__(self, steps: Steps, key: Key, seat: Seat, replace: bool) -> None:
        self.value: Optional[bytes] = None
        self._steps, self._key, self._seat, self._replace = steps, key, seat, replace
        self._lock = threading.Lock()  # the timer's thread ends the step too
        self._maker = os.getpid()
        self._over = False
        self._expired = False
        self._offer: Optional[Offer] = None
        self._timer: Optional[threading.Timer] = None
        self._began = time.monotonic()

    def __repr__(self) -> str:
        state = "found or made" if self.value is not None else "to be made"
        return f"<cccl_cache.steps.Step {self._key.digest[:16]} {state}>"

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if isinstance(error, Exception):
            self.fail()
        else:
            self.close()

    @property
    def held(self) -> bool:
        """Returns whether other processes wait for this step while this program makes it."""
        offer = self._offer  # the timer's thread takes it away
        return offer is not None and offer.held

    def put(self, value: bytes) -> None:
        """Deposits the value. All waiting processes and threads get it.

        Parameters
        ----------
        value : bytes
            The value, at most 64 MiB by the daemon's default. A larger one stays in this process.

        Raises
        ------
        ValueError
            The step has its value already.
        """
        _library.check_type("value", "bytes", value, bytes)
        if self.value is not None:
            raise ValueError("the step has its value already")
        self.value = value
        made = Made(value, time.monotonic() - self._began)
        report, deposits = self._steps._report, self._steps._deposits
        report.count("made")
        report.count("made_bytes", len(value))
        _, offer = self._end(made)
        if self._expired and not self._replace:  # a late replacement could take the place of a good value
            offer = deposits.open(self._key, self._steps._namespace, wait=_BRIEFLY)
        if offer is not None:
            offer.publish(_pack(made))
            offer.close()

    def fail(self) -> None:
        """Reports that the value can't be made. All waiting processes and threads are released, and each makes its own.
        The failure is not remembered. Does nothing after `put`."""
        if self._give_up(Offer.fail):
            self._steps._report.count("failed")

    def close(self) -> None:
        """Gives up the right to make the value: the next waiting process gets it. Does nothing after `put`."""
        self._give_up(Offer.close)

    def _give_up(self, ending: Callable[[Offer], None], expired: bool = False) -> bool:
        """Returns whether the step was not over before."""
        first, offer = self._end(None, expired)
        if offer is not None:
            ending(offer)
            offer.close()
        return first

    def _expire(self) -> None:
        if self._give_up(Offer.fail, expired=True):
            self._steps._report.count("expired")

    def _end(self, made: Optional[Made], expired: bool = False, found: bool = False) -> tuple[bool, Optional[Offer]]:
        """Ends the right to make the value, and the waits of other threads. Returns whether it had not ended before, and
        the lease if there is one."""
        forked = os.getpid() != self._maker  # a thread that is not in the child may have the locks of step and timer
        with contextlib.nullcontext() if forked else self._lock:
            if self._over:
                return False, None
            self._over, self._expired = True, expired
            offer, self._offer = self._offer, None
        if self._timer is not None and not forked:
            self._timer.cancel()
        flight = self._seat.flight
        if flight is not None and (self._seat.leads or flight.inherited):
            flight.finish(made, found)
        return True, offer

    def _open(self) -> bool:
        """Waits for the value or for the right to make it. Returns False if another thread has found the value that this
        caller wants to replace: the caller must enter again."""
        began = time.monotonic()
        flight, made = self._seat.flight, None
        if self._seat.leads:
            made = self._ask()
        elif flight is not None and not self._seat.nested:
            made = flight.wait(self._steps._wait)
            if made is not None and flight.found and self._replace:
                return False
        self._steps._note(made, began)
        self._began = time.monotonic()
        if made is not None:
            self.value = made.value
            self._end(made, found=True)
        return True

    def _ask(self) -> Optional[Made]:
        assert self._seat.flight is not None
        offer = self._steps._deposits.open(self._key, self._steps._namespace, replace=self._replace,
                                           inside=leads_another(self._seat.flight))
        made = offer.read(_unpack)
        if made is not None:
            offer.close()
            return made
        self._steps._report.count("released", int(offer.released))
        if not offer.held:  # only threads of this process can wait
            offer.close()
            self._seat.flight.end_waits_after(self._steps._hold)
            return None
        timer = threading.Timer(self._steps._hold, self._expire)
        timer.daemon = True
        with self._lock:
            left = self._over  # during the wait
            if not left:
                self._offer, self._timer = offer, timer
        if left:
            offer.close()
            return None
        try:
            timer.start()
        except RuntimeError as error:  # no more threads, or the end of the interpreter
            self._steps._report.error(self._steps._namespace, error)
            self.close()
        return None


def _key(fields: Mapping[str, Any]) -> Key:
    if not hasattr(fields, "items"):
        raise _library.wrong_type("fields", "a mapping of names to values", fields)
    for name in fields:
        _library.check_type("each name in fields", "a str", name, str)
    try:
        named = digest((_FORMAT, *sorted(fields.items(), key=lambda pair: pair[0])))
    except Refused as reason:
        raise TypeError(f"fields has {reason}: str, bytes, int, float, bool, None and tuples of these are allowed") from None
    return Key({"step": named}, named)


def _pack(made: Made) -> bytes:
    return int(made.seconds * 1e6).to_bytes(_HEAD, "little") + made.value


def _unpack(packed: bytes) -> Made:
    if len(packed) < _HEAD:
        raise ValueError("a step is damaged: it has no time")
    # Another member of a group may have written any time: no more than a lease lasts is believed.
    return Made(packed[_HEAD:], min(int.from_bytes(packed[:_HEAD], "little") / 1e6, LEASE_LIMIT))
