# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A circuit breaker for calls that wait for the daemon or for another process's lease."""

from __future__ import annotations

_SECONDS_WHILE_OPEN = 1.0


class CircuitBreaker:
    """The time that each call may wait: the whole timeout, but one second after a call that timed out. Thread-safe.

    The first answer of the daemon restores the whole timeout. A daemon or a lease holder that hangs thus costs a
    process the whole timeout once, not at each call.
    """

    def __init__(self, seconds: float) -> None:
        self._whole = seconds
        self._now = seconds

    @property
    def seconds(self) -> float:
        """Returns the seconds that the next call may wait."""
        return self._now

    def answered(self) -> None:
        """Records that the daemon gave contents or a lease."""
        self._now = self._whole

    def failed(self, error: Exception) -> None:
        """Records the error of a call. A timeout, or "unavailable" from a daemon that hangs, shortens the next waits."""
        if isinstance(error, TimeoutError) or getattr(error, "status", None) == "unavailable":
            self._now = min(self._whole, _SECONDS_WHILE_OPEN)
