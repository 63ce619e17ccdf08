# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The steps that this process makes now. No thread asks the daemon for a lease that its own process holds.

A step that is asked for again while it is made has one of two callers. If the callers are nested (a build asks for the step
that it makes), the inner caller must not wait. Any other thread or task waits for the first. The context variable tells them
apart, for threads as well as for tasks of asyncio.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from contextvars import ContextVar
from typing import NamedTuple, Optional, Tuple

Name = Tuple[str, Optional[str], str]  # namespace, group, digest of the fields


class Made(NamedTuple):
    """The value of a step, and the seconds that its build took."""

    value: bytes
    seconds: float


class Flight:
    """One step while a caller of this process gets or makes it. Thread-safe."""

    def __init__(self, name: Name) -> None:
        self.name = name
        self.number = next(_numbers)
        self.inherited = False  # whether a parent process makes it
        self.found = False  # whether the value was there before
        self._deadline = float("inf")
        self._over = False
        self._made: Optional[Made] = None
        self.renew()

    def renew(self) -> None:
        """Forgets the waiting threads, which a child after a fork does not have."""
        self._changed = threading.Condition()

    def finish(self, made: Optional[Made], found: bool = False) -> None:
        """Ends the flight. All waiting callers get the value, or None: then each of them makes it."""
        with _lock:
            for flights in (_flights, _inherited):
                if flights.get(self.name) is self:
                    del flights[self.name]
        with self._changed:
            self._over, self._made, self.found = True, made, found
            self._changed.notify_all()

    def end_waits_after(self, seconds: float) -> None:
        """Bounds the waits of all callers."""
        with self._changed:
            self._deadline = time.monotonic() + seconds
            self._changed.notify_all()

    def wait(self, seconds: float) -> Optional[Made]:
        """Waits for the end of the flight. Returns None if it ends without a value, or not in time."""
        end = time.monotonic() + seconds
        with self._changed:
            while not self._over and (left := min(end, self._deadline) - time.monotonic()) > 0:
                self._changed.wait(left)
            return self._made


class Seat(NamedTuple):
    """The place of a caller: it leads the flight, waits for it, or is nested in its build. Without a flight, no caller of
    this process makes the step."""

    flight: Optional[Flight]
    leads: bool = False
    nested: bool = False


_numbers = itertools.count()
_lock = threading.Lock()
_flights: dict[Name, Flight] = {}
_inherited: dict[Name, Flight] = {}  # those around the fork that made this process
_own: ContextVar[Tuple[int, ...]] = ContextVar("cccl_cache.steps", default=())  # numbers of flights that this context leads


def find(name: Name) -> Seat:
    """Returns the place of a caller that does not make the step. Does not wait."""
    with _lock:
        return _find(name)


def enter(name: Name) -> Seat:
    """Returns the place of a caller that may make the step. Does not wait. A caller that leads must finish the flight."""
    with _lock:
        seat = _find(name)
        if seat.flight is not None:
            return seat
        flight = _flights[name] = Flight(name)
        _own.set((*(each.number for each in _led()), flight.number))
        return Seat(flight, leads=True)


def leads_another(flight: Flight) -> bool:
    """Returns whether this context gets or makes another step too."""
    with _lock:
        return any(each is not flight for each in _led())


def _find(name: Name) -> Seat:
    own = _own.get()
    inherited = _inherited.get(name)
    if inherited is not None and inherited.number in own:
        return Seat(inherited, nested=True)
    flight = _flights.get(name)
    return Seat(flight, nested=flight is not None and flight.number in own)


def _led() -> list[Flight]:
    """Returns the flights that this context leads."""
    own = _own.get()
    return [each for each in (*_inherited.values(), *_flights.values()) if own and each.number in own]


def _keep_own() -> None:
    """Forgets the flights of threads that the child does not have. Those of the thread that forked stay the parent's."""
    global _lock
    _lock = threading.Lock()
    led = _led()
    for flight in (*_flights.values(), *_inherited.values()):
        flight.renew()  # the child may leave the block of any step
    _flights.clear()
    _inherited.clear()
    for flight in led:
        flight.inherited = True
        _inherited[flight.name] = flight


os.register_at_fork(after_in_child=_keep_own)
