# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles several kernels at once: numba compiles one kernel while the daemon works for the others.

numba compiles under its locks, one kernel at a time. A wait for the daemon needs no lock.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterable, Iterator, Tuple

from cuda.bindings import driver

from ._kernels import LOCKS, KernelCache, is_compiling
from ._stored import LoadedLibrary

Compile = Tuple[Any, Tuple[Any, ...]]
_MOST_THREADS = 4  # each may hold a lease, and a user may hold 64
_thread = threading.local()


def compile_together(wanted: list[Compile]) -> list[Any]:
    """Compiles each dispatcher for its types, each pair once. Raises the error of the first pair that failed."""
    once = dict.fromkeys(wanted)
    if is_compiling():
        return [dispatcher.compile(types) for dispatcher, types in wanted]
    made = _without_threads(once)
    pool = ThreadPoolExecutor(_MOST_THREADS, "cccl_cache.numba", _begin, driver.cuCtxGetCurrent())
    try:
        compiles = {each: pool.submit(each[0].compile, each[1]) for each in once if each not in made}
        made.update((each, compile.result()) for each, compile in compiles.items())
    finally:
        pool.shutdown(cancel_futures=True)
    return [made[each] for each in wanted]


def _without_threads(wanted: Iterable[Compile]) -> dict[Compile, Any]:
    """Gets kernels in their order, up to the first that is compiled. Threads would only slow down the load of stored
    kernels."""
    made = {}
    for dispatcher, types in wanted:
        compiled = types in dispatcher.overloads
        if not compiled and not isinstance(dispatcher._cache, KernelCache):
            break
        kernel = made[dispatcher, types] = dispatcher.compile(types)
        if not compiled and not isinstance(kernel._codelibrary, LoadedLibrary):
            break
    return made


def _begin(error: Any, context: Any) -> None:
    _thread.shares_locks = True
    if error == driver.CUresult.CUDA_SUCCESS:
        driver.cuCtxSetCurrent(context)


@contextlib.contextmanager
def others_compile() -> Iterator[None]:
    """Releases numba's locks during the block, if this is a thread of `compile_together`: its other threads then compile."""
    held = [lock for lock in LOCKS if getattr(_thread, "shares_locks", False) and lock._is_owned()]
    taken = [lock._release_save() for lock in reversed(held)]
    try:
        yield
    finally:
        for lock in held:
            lock._acquire_restore(taken.pop())


@contextlib.contextmanager
def nobody_else_compiles() -> Iterator[None]:
    """Keeps numba's locks during the block. The block holds a lease, for which another thread could wait while it
    compiles."""
    outer, _thread.shares_locks = getattr(_thread, "shares_locks", False), False
    try:
        yield
    finally:
        _thread.shares_locks = outer
