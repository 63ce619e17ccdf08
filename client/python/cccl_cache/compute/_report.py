# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in did in this process, and why it left something alone."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import Any

logger = logging.getLogger("cccl_cache.compute")


class Report:
    """Counts of outcomes and reasons. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()
        self._reasons: dict[str, Counter[str]] = {"not_cached": Counter(), "errors": Counter()}

    def count(self, outcome: str) -> None:
        """One more of `outcome`: hits, hits_in_process, builds or published."""
        with self._lock:
            self._outcomes[outcome] += 1

    def not_cached(self, algorithm: str, reason: str) -> None:
        """An algorithm was built as if the plug-in were not there, because of what it was built from."""
        self._note("not_cached", algorithm, reason)

    def error(self, algorithm: str, error: BaseException) -> None:
        """The cache failed; the program went on without it."""
        self._note("errors", algorithm, f"{type(error).__name__}: {error}")

    def snapshot(self) -> dict[str, Any]:
        """A copy of all counts."""
        with self._lock:
            counts = {name: self._outcomes[name] for name in ("hits", "hits_in_process", "builds", "published")}
            return {**counts, **{name: dict(reasons) for name, reasons in self._reasons.items()}}

    def _note(self, kind: str, algorithm: str, reason: str) -> None:
        with self._lock:
            first = reason not in self._reasons[kind]
            if first and len(self._reasons[kind]) >= 1000:
                return
            self._reasons[kind][reason] += 1
        if first:
            logger.log(logging.INFO if kind == "not_cached" else logging.WARNING, "%s not cached: %s", algorithm, reason)
