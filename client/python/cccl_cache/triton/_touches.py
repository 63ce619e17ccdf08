# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Reports the uses of files in Triton's own directory, so that the daemon does not drop the most used kernels."""

from __future__ import annotations

import atexit

from typing import Callable

from .._plugin.leases import Deposits, Key

_FRESH = 3600.0  # age of a copy in seconds below which its use is not reported
_BATCH = 40  # keys per message


class Touches:
    """Reports each key once per process, in batches. For any thread. A race may lose keys, which does no harm."""

    def __init__(self, deposits: Deposits):
        self._deposits = deposits
        self._seen: set[str] = set()
        self._due: list[Key] = []
        self._answers = True  # until a report to the daemon fails
        atexit.register(self.flush)

    def note(self, key: Key, age: Callable[[], float]) -> None:
        """Records a use of the copy of a deposit. `age` returns the seconds since the copy was made."""
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
