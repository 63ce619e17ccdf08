# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The kernels of numba-cuda: deposited in the daemon, or compiled under a lease while others wait."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from typing import Any, Iterator, NamedTuple, Optional

from numba.cuda import launchconfig
from numba.cuda.core.caching import NullCache
from numba.cuda.core.compiler_lock import _numba_compiler_lock, _numba_cuda_compiler_lock
from numba.cuda.core.sigutils import normalize_signature
from numba.cuda.dispatcher import CUDACache, _Kernel

from .._plugin.canonical import Refused
from .._plugin.leases import Deposits, Key, Offer
from .._plugin.report import Report
from ._environment import headers
from ._key import kernel_key
from ._stored import HEADERS, LAUNCH, Stored, load_kernel, needs, read, write_kernel, write_needs
from ._warnings import Warned, heard, warn


# The locks of numba's compilers, in the order in which numba takes them.
LOCKS = [lock._lock for lock in (_numba_compiler_lock, _numba_cuda_compiler_lock) if lock is not None]


def is_compiling() -> bool:
    """Returns whether this thread holds a compiler lock of numba, so that other threads can't compile."""
    return any(lock._is_owned() for lock in LOCKS)


class Kernels(NamedTuple):
    """The deposits of kernels, with the settings that all functions of a process share."""

    deposits: Deposits
    release: str
    report: Report


class _Asked:
    """The daemon's answer for one compile: a kernel, or the right to publish the kernel under `key`."""

    def __init__(self, key: Key, argument_types: tuple[Any, ...], stack: contextlib.ExitStack):
        self.key = key
        self.more: dict[str, str] = {}
        self.argument_types = argument_types
        self.stack = stack
        self.offer: Optional[Offer] = None
        self.kernel: Any = None
        self.warned: list[Warned] = []


class KernelCache(CUDACache):  # type: ignore[misc]
    """The cache of the kernels of one function. numba calls it before and after a compile.

    With `cache=True`, numba's own file cache serves the kernels that have no key, and all kernels without a daemon.
    """

    def __init__(self, dispatcher: Any, kernels: Kernels, asked_for: bool):
        # CUDACache's constructor is not called: it looks for a directory and fails for a function without a file.
        self._dispatcher = weakref.ref(dispatcher)
        self._kernels = kernels
        self._name = dispatcher.py_func.__qualname__
        self._sensitive = False
        self._thread = threading.local()
        self._files: Optional[Any] = None if asked_for else NullCache()

    def __repr__(self) -> str:
        return f"<cccl_cache.numba cache of {self._name}>"

    @contextlib.contextmanager
    def asking(self, signature: Any) -> Iterator[None]:
        """Asks for a kernel before numba takes its compiler lock, so that other threads compile during the wait."""
        dispatcher = self._function
        types = normalize_signature(signature)[0]
        if dispatcher.specialized or types in dispatcher.overloads or is_compiling():
            yield
            return
        key = self._key(types, {})
        if key is None:
            yield
            return
        with self._kernels.deposits.turn(key.digest), contextlib.ExitStack() as stack:
            if types not in dispatcher.overloads:
                self._thread.asked = self._ask(_Asked(key, types, stack))
                self._thread.heard = stack.enter_context(heard())
            try:
                yield
            finally:
                self._thread.asked = None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Returns the kernel, or None if numba must compile it. A stored kernel does not need numba's registries of types."""
        asked = self._asked
        if asked is not None and asked.kernel is not None:
            self._kernels.report.count("hits")
            warn(asked.warned)
            return asked.kernel
        kernel = None if self._served else self._own().load_overload(signature, target_context)
        if kernel is None:
            self._kernels.report.count("compiles")
        return kernel

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Deposits a compiled kernel if this process holds its lease."""
        asked = self._asked
        try:
            if not self._served:
                self._save_in_files(signature, kernel)
            elif asked is not None and asked.offer is not None:
                self._publish(asked, asked.offer, kernel)
        except Refused as reason:
            self._kernels.report.not_cached(self._name, str(reason))
        except Exception as error:
            self._kernels.report.error(self._name, error)

    def _save_in_files(self, signature: Any, kernel: Any) -> None:
        try:
            self._own().save_overload(signature, kernel)
        except Exception as error:  # numba can't serialize some kernels, such as those with linked files
            self._kernels.report.not_cached(self._name, f"in numba's own files: {error}")

    @property
    def cache_path(self) -> Any:
        return self._own().cache_path

    def enable(self) -> None:
        self._own().enable()

    def disable(self) -> None:
        self._own().disable()

    def flush(self) -> None:
        self._own().flush()

    def set_launch_config_key(self, key: Any) -> None:
        if not self._served and isinstance(self._own(), CUDACache):
            self._own().set_launch_config_key(key)

    def is_launch_config_sensitive(self) -> bool:
        if self._served or not isinstance(self._own(), CUDACache):
            return self._sensitive
        return bool(self._own().is_launch_config_sensitive())

    def mark_launch_config_sensitive(self) -> bool:
        self._sensitive = True
        if self._served or not isinstance(self._own(), CUDACache):
            return True
        return bool(self._own().mark_launch_config_sensitive())

    @property
    def _function(self) -> Any:
        return self._dispatcher()

    @property
    def _asked(self) -> Optional[_Asked]:
        return getattr(self._thread, "asked", None)

    @property
    def _served(self) -> bool:
        """Returns whether the daemon has answered for the present compile."""
        asked = self._asked
        return asked is not None and (asked.kernel is not None or asked.offer is not None)

    def _own(self) -> Any:
        """Returns numba's own file cache of the function."""
        if self._files is None:
            try:
                self._files = CUDACache(self._function.py_func)
            except RuntimeError:  # numba has no directory for this function's files
                self._files = NullCache()
        return self._files

    def _key(self, types: tuple[Any, ...], more: dict[str, str]) -> Optional[Key]:
        try:
            return kernel_key(self._kernels.release, self._function, types, more)
        except Refused as reason:
            self._kernels.report.not_cached(self._name, str(reason))
        except Exception as error:
            self._kernels.report.error(self._name, error)
        return None

    def _ask(self, asked: _Asked) -> _Asked:
        try:
            stored = self._lookup(asked, asked.key)
            while stored is not None and not set(stored.needs) <= set(asked.more):
                asked.more.update(self._more(stored.needs))
                key = self._key(asked.argument_types, asked.more)
                stored = None if key is None else self._lookup(asked, key)
            if asked.kernel is not None:
                self._sensitive |= asked.kernel.launch_config_sensitive
        except Refused as reason:
            self._kernels.report.not_cached(self._name, str(reason))
        except Exception as error:
            self._kernels.report.error(self._name, error)
        return asked

    def _lookup(self, asked: _Asked, key: Key) -> Optional[Stored]:
        """Returns the deposit. Without a deposit, `asked` gets the lease."""
        offer = asked.stack.enter_context(self._kernels.deposits.ask(key, self._name))
        stored = offer.read(functools.partial(self._load, asked))
        if offer.held:
            asked.key, asked.offer = key, offer
        return stored

    def _load(self, asked: _Asked, contents: bytes) -> Stored:
        stored = read(contents)
        if not stored.needs:
            dispatcher = self._function
            again = lambda: _Kernel(dispatcher.py_func, asked.argument_types, **dispatcher.targetoptions)  # noqa: E731
            asked.kernel = load_kernel(stored, asked.argument_types, again)
            asked.warned = stored.warned
        return stored

    def _more(self, names: tuple[str, ...]) -> dict[str, str]:
        """Returns the digests of a kernel's further inputs, by name."""
        more = {}
        if HEADERS in names:
            more[HEADERS] = headers()
        if LAUNCH in names:
            config = launchconfig.current_launch_config()
            more[LAUNCH] = repr(self._function._cache_launch_config_key(config))
        return more

    def _publish(self, asked: _Asked, offer: Offer, kernel: Any) -> None:
        contents = write_kernel(kernel, list(self._thread.heard))
        after = self._key(asked.argument_types, asked.more)
        if after is None or after.digest != asked.key.digest:
            raise Refused("what it is compiled from changed meanwhile")
        wanted = needs(kernel)
        if set(wanted) <= set(asked.more):
            offer.publish(contents)
            return
        more = {**asked.more, **self._more(wanted)}
        key = self._key(asked.argument_types, more)
        if key is not None:
            asked.stack.enter_context(self._kernels.deposits.ask(key, self._name)).publish(contents)
            offer.publish(write_needs(tuple(more)))
