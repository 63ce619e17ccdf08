# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Telling the daemon what is used from Triton's directory, so that it does not drop what is used most."""

from __future__ import annotations

import atexit

from typing import Callable

from .._plugin.leases import Deposits, Key

_FRESH = 3600.0  # seconds for which a deposit counts as used since it was handed out
_BATCH = 40  # what one message holds


class Touches:
    """Each key is told once a process, many in a message. Used by any thread; what a race leaves out does not matter."""

    def __init__(self, deposits: Deposits):
        self._deposits = deposits
        self._seen: set[str] = set()
        self._due: list[Key] = []
        self._answers = True  # until the daemon could not be told
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
