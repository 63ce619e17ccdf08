# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Reports uses of Triton's own directory to the daemon, so that it does not drop the most used kernels."""

from __future__ import annotations

import atexit

from typing import Callable

from .._plugin.leases import Deposits, Key

_FRESH = 3600.0  # seconds for which a deposit counts as used since it was handed out
_BATCH = 40  # what one message holds


class Touches:
    """Each key is reported once a process, many in a message. Used by any thread; a race may leave out keys, which does
    not matter."""

    def __init__(self, deposits: Deposits):
        self._deposits = deposits
        self._seen: set[str] = set()
        self._due: list[Key] = []
        self._answers = True  # until a report to the daemon fails
        atexit.register(self.flush)

    def note(self, key: Key, age: Callable[[], float]) -> None:
        """The copy of this deposit is used; `age` tells how many seconds ago it was made."""
        if key.digest in self._seen or not self._answers:
            return
        self._seen.add(key.digest)
        if age() >= _FRESH:
            self._due.append(key)
        if len(self._due) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        due, self._due = self._due, []
        if due and self._answers:
            self._answers = self._deposits.touch(due)
