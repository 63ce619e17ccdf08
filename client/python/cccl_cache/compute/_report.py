# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of cuda-cccl whose inner workings the plug-in was tested with; what it did in this process, and why it
left something alone."""

from __future__ import annotations

import importlib
import logging
import threading
from collections import Counter
from importlib import metadata
from typing import Any, Optional

TESTED = ("1.2.0", "1.2.1")
TESTED_COMPILERS = ("0.5.4",)

logger = logging.getLogger("cccl_cache.compute")


def tested_release() -> tuple[Optional[str], Optional[str]]:
    """(the installed release, None), or (None, why it is not one to change)."""
    try:
        release = metadata.version("cuda-cccl")
    except metadata.PackageNotFoundError:
        return None, "cuda-cccl is not installed"
    if release not in TESTED:
        return None, f"cuda-cccl {release} was not tested with it; {', '.join(TESTED)} were"
    try:
        compiler = metadata.version("numba-cuda-mlir")
    except metadata.PackageNotFoundError:
        compiler = TESTED_COMPILERS[0]
    if compiler not in TESTED_COMPILERS:
        return None, f"numba-cuda-mlir {compiler} was not tested with it; {', '.join(TESTED_COMPILERS)} were"
    if not importlib.import_module("cuda.compute")._BINDINGS_AVAILABLE:
        return None, (
            "cuda.compute can't load CUDA, for which it needs libcuda.so.1: on a machine without a driver put a link of "
            "that name to the toolkit's lib64/stubs/libcuda.so into a directory of LD_LIBRARY_PATH"
        )
    from cuda.compute._build_info import USING_V2

    return (None, "the HostJIT backend can't save builds") if USING_V2 else (release, None)


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
