# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A circuit breaker for calls that wait for the daemon or for another process's lease."""

from __future__ import annotations

_SECONDS_WHILE_OPEN = 1.0


class CircuitBreaker:
    """Gives each call the whole timeout; after a call that timed out only a second, until the daemon answers.
    Thread-safe.

    So a daemon or a holder of leases that hangs costs a process the whole timeout once, not at each of its calls.
    """

    def __init__(self, seconds: float) -> None:
        self._whole = seconds
        self._now = seconds

    @property
    def seconds(self) -> float:
        """How long the next call may wait."""
        return self._now

    def answered(self) -> None:
        """The daemon gave contents or a lease."""
        self._now = self._whole

    def failed(self, error: Exception) -> None:
        """There was no answer. A daemon that is known to hang says nothing for ten seconds: that is "unavailable"."""
        if isinstance(error, TimeoutError) or getattr(error, "status", None) == "unavailable":
            self._now = min(self._whole, _SECONDS_WHILE_OPEN)
