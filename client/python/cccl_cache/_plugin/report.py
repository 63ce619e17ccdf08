# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The counts of a plug-in's work in this process, with the reasons for which it did not cache."""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from typing import Any

_MOST_REASONS = 1000
LINK_OUTCOMES = ("links_generated", "links_hit")


class Report:
    """Counts of outcomes and reasons. Thread-safe.

    `plugin` is the name of the logger ("cccl_cache.compute"). `outcomes` has all names that `count` takes.
    """

    def __init__(self, plugin: str, outcomes: tuple[str, ...]) -> None:
        self.logger = logging.getLogger(plugin)
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._renew_lock)  # a thread of the parent may hold it
        self._outcomes: dict[str, float] = {name: 0 for name in outcomes}
        self._reasons: dict[str, Counter[str]] = {"not_cached": Counter(), "errors": Counter()}

    def count(self, outcome: str, times: float = 1) -> None:
        """Adds `times` to the count of an outcome, or so many bytes or seconds."""
        with self._lock:
            self._outcomes[outcome] += times

    def not_cached(self, what: str, reason: str) -> None:
        """Counts a result that was made without the cache because of its inputs."""
        self._note("not_cached", what, reason)

    def error(self, what: str, error: BaseException) -> None:
        """Counts an error of the cache. The program continues without the cache."""
        self._note("errors", what, f"{type(error).__name__}: {error}")

    def snapshot(self) -> dict[str, Any]:
        """Returns a copy of all counts."""
        with self._lock:
            return {**self._outcomes, **{name: dict(reasons) for name, reasons in self._reasons.items()}}

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def _note(self, kind: str, what: str, reason: str) -> None:
        with self._lock:
            first = reason not in self._reasons[kind]
            if first and len(self._reasons[kind]) >= _MOST_REASONS:
                return
            self._reasons[kind][reason] += 1
        if first:
            level = logging.INFO if kind == "not_cached" else logging.WARNING
            self.logger.log(level, "%s not cached: %s", what, reason)
