# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The builds of cuda.compute: kept in this process, deposited in the daemon, or built under a lease while others wait."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Iterator, NamedTuple, Optional

from .._plugin.canonical import Refused
from .._plugin.leases import Deposits, Key, Settings
from .._plugin.recent import Recent
from .._plugin.report import Report
from ._key import build_key

NAMESPACE = "cuda.compute"
_MOST_KEPT = 1024
_current = threading.local()


class Construction(NamedTuple):
    """A call of a wrapper's constructor."""

    original: Callable[..., None]
    wrapper: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return type(self.wrapper).__qualname__

    @property
    def named(self) -> bool:
        """Returns whether the program names compute capabilities to build for."""
        return self.kwargs.get("compute_capability") is not None

    def run(self) -> None:
        self.original(self.wrapper, *self.args, **self.kwargs)


def current_key() -> Optional[str]:
    """Returns the key of this thread's present build. The package's own caches add it to their keys."""
    return getattr(_current, "key", None)


def for_named_capabilities() -> bool:
    """Returns whether this thread is reading a build for compute capabilities that the program names. They may differ
    from that of this device."""
    return getattr(_current, "named", False)


class Builds:
    """Replaces the build in the constructor of each wrapper. Thread-safe."""

    def __init__(self, settings: Settings, release: str, report: Report):
        self._deposits = Deposits(NAMESPACE, settings, report)
        self._release = release
        self._report = report
        self._kept: Recent[str, tuple[bytes, list[Any]]] = Recent(_MOST_KEPT)

    def construct(
        self, original: Callable[..., None], wrapper: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Fills in `wrapper` as its constructor `original` would."""
        call = Construction(original, wrapper, args, kwargs)
        if getattr(_current, "nested", False):
            call.run()
            return
        _current.nested = True
        try:
            self._construct(call)
        finally:
            _current.nested = False

    def clear(self) -> None:
        """Removes the builds that this process keeps."""
        self._kept.clear()

    def _construct(self, call: Construction) -> None:
        key = self._key(call)
        if key is None:
            self._build(None, call)
        elif self._from_this_process(key, call):
            self._report.count("hits_in_process")
        else:
            # One thread gets and loads the build. The others share its loaded code, as with the package's own cache.
            with self._deposits.turn(key.digest):
                if self._from_this_process(key, call):
                    self._report.count("hits_in_process")
                else:
                    self._from_the_daemon(key, call)

    def _key(self, call: Construction) -> Optional[Key]:
        try:
            return build_key(self._release, call.wrapper, call.original, call.args, call.kwargs)
        except Refused as reason:
            self._report.not_cached(call.name, str(reason))
        except Exception as error:
            self._report.error(call.name, error)
        return None

    def _from_this_process(self, key: Key, call: Construction) -> bool:
        kept = self._kept.get(key.digest)
        if kept is None:
            return False
        build, results = kept
        return self._adopt(key, call, lambda: _read(call, build), build, results)

    def _from_the_daemon(self, key: Key, call: Construction) -> None:
        with self._deposits.ask(key, call.name) as offer:
            loaded = offer.read(functools.partial(_read, call))
            if offer.contents is not None and self._adopt(key, call, lambda: loaded, offer.contents, []):
                self._report.count("hits")
                return
            self._build(key, call)
            build = self._keep_own(key, call)
            if build is not None:
                offer.publish(build)

    def _build(self, key: Optional[Key], call: Construction) -> None:
        self._report.count("builds")
        _current.key = None if key is None else key.digest
        try:
            call.run()
        finally:
            _current.key = None

    def _keep_own(self, key: Key, call: Construction) -> Optional[bytes]:
        """Keeps a build in this process, and returns its bytes. None if the build can't be serialized."""
        try:
            after = self._key(call)
            if after is None or after.digest != key.digest:
                self._report.not_cached(call.name, "what it is built from changed meanwhile")
                return None
            build: bytes = call.wrapper.serialize()
            self._kept.keep(key.digest, (build, [holder.build_results for holder in _holders(call.wrapper)]))
            return build
        except Exception as error:
            self._report.error(call.name, error)
            return None

    def _adopt(
        self, key: Key, call: Construction, load: Callable[[], Any], build: bytes, results: list[Any]
    ) -> bool:
        """Fills in the wrapper from a build that `load` has read. Its loaded code is `results`, if given. Returns False if
        the build can't be used."""
        try:
            loaded = load()
            holders = list(_holders(loaded))
            for holder, shared in zip(holders, results):
                holder.build_results = shared
            if not call.named:
                for holder in holders:
                    holder._bound_build_result = _bound(holder.build_results)
            _copy_slots(loaded, call.wrapper)
            self._kept.keep(key.digest, (build, [holder.build_results for holder in holders]))
            return True
        except Exception as error:
            self._report.error(call.name, error)
            return False


def _read(call: Construction, build: bytes) -> Any:
    _current.named = call.named
    try:
        return type(call.wrapper).deserialize(build)
    finally:
        _current.named = False


def _holders(wrapper: Any) -> Iterator[Any]:
    """Yields the objects that hold compiled code: the wrapper or its parts."""
    if hasattr(type(wrapper), "build_results"):
        yield wrapper
    if hasattr(type(wrapper), "partitioner"):
        yield from _holders(wrapper.partitioner)


def _bound(build_results: Any) -> Any:
    """Returns the code that is loaded on the wrapper's device, as the package's constructors bind it."""
    from cuda.compute import _caching
    from cuda.compute._cccl_interop import cc_to_key

    device_id, capability = _caching._thread_local.factory_device_info
    return build_results.resolve(cc_to_key(capability), device_id)


def _copy_slots(source: Any, target: Any) -> None:
    for kind in type(source).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(source, name):
                setattr(target, name, getattr(source, name))
