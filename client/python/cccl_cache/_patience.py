# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""How long a program waits for what others make."""

from __future__ import annotations

_BRIEFLY = 1.0


class Patience:
    """As long as was asked for; once that was in vain, a second, until the daemon answers. Thread-safe.

    So a daemon or a holder of leases that hangs costs a process its patience once, not at each of its calls.
    """

    def __init__(self, seconds: float) -> None:
        self._whole = seconds
        self._now = seconds

    @property
    def seconds(self) -> float:
        """How long to wait now."""
        return self._now

    def answered(self) -> None:
        """The daemon gave contents or a lease."""
        self._now = self._whole

    def failed(self, error: Exception) -> None:
        """There was no answer."""
        if isinstance(error, TimeoutError):
            self._now = min(self._whole, _BRIEFLY)
