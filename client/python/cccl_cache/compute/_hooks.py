# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The changes to cuda.compute: constructors ask for a build first, and its caches compare operators strictly."""

from __future__ import annotations

import functools
from typing import Any, Callable

from .._plugin.canonical import Refused, digest
from .._plugin.switch import Patches
from . import _arguments
from ._builds import Builds, current_key, for_named_capabilities
from ._frozen import record_compiled

_NO_IDENTITY = ("cccl_cache", None)


class ComputeHooks:
    """Makes and undoes the changes. For one thread at a time."""

    def __init__(self, builds: Builds):
        self._builds = builds
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect earlier builds."""
        from cuda.compute import _caching, op
        from cuda.compute._serialization.serializable import Serializable, _BuildResults

        for wrapper in set(Serializable._registry.values()):
            self._patches.replace(wrapper, "__init__", self._constructor(wrapper.__init__))
        self._patches.replace(_BuildResults, "read", _unbound(_BuildResults.read))
        self._patches.replace(_caching.CachableFunction, "__init__", _strict(_caching.CachableFunction.__init__))
        self._patches.replace(_caching, "_make_cache_key_from_args", _kept_apart(_caching._make_cache_key_from_args))
        _caching._process_wide_cache_registry["cccl_cache.compute"] = _Clearing(self._builds)
        self._patches.afterwards(lambda: _caching._process_wide_cache_registry.pop("cccl_cache.compute", None))
        if op._jit_adapter is None:
            self._patches.replace(op, "_jit_op_adapter_factory", self._watched_factory(op._jit_op_adapter_factory))
        else:
            self._watch_compiler()

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()

    def _constructor(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def __init__(wrapper: Any, *args: Any, **kwargs: Any) -> None:
            self._builds.construct(original, wrapper, args, kwargs)

        return __init__

    def _watched_factory(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def factory() -> Any:
            adapter = original()
            self._watch_compiler()
            return adapter

        return factory

    def _watch_compiler(self) -> None:
        from cuda.compute import _jit

        self._patches.replace(_jit, "_compile_op_impl", _recording(_jit._compile_op_impl))


class _Clearing:
    """An entry in the package's list of caches. clear_all_caches() clears all entries."""

    def __init__(self, builds: Builds):
        self.cache_clear = builds.clear


def _strict(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adds to an operator's identity what the package's own identity ignores, such as the type in 1 and 1.0."""

    @functools.wraps(original)
    def __init__(self: Any, function: Any) -> None:
        original(self, function)
        self._identity += (_identity(function),)

    return __init__


def _identity(function: Any) -> Any:
    try:
        return digest(_arguments.operator_digest_part(function))
    except Refused:
        return _NO_IDENTITY
    except Exception:
        return _NO_IDENTITY


def _kept_apart(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the key of the present build to the keys of the package's own caches, which cover fewer inputs."""

    @functools.wraps(original)
    def make_cache_key(*args: Any, **kwargs: Any) -> Any:
        key = original(*args, **kwargs)
        strict = current_key()
        return key if strict is None else (*key, strict)

    return make_cache_key


class _OnAnyDevice:
    """Replaces a class of build results while a build is read, so that a result for another device is accepted."""

    def __init__(self, results: Any):
        self._results = results

    def deserialize(self, data: Any, *, load: bool, check_cc: bool) -> Any:
        return self._results.deserialize(data, load=load, check_cc=False)


def _unbound(original: Callable[..., Any]) -> Callable[..., Any]:
    """Skips the package's check that this device can run a build, if the program names compute capabilities."""

    @functools.wraps(original)
    def read(self: Any, reader: Any, wrapper: Any) -> Any:
        if not for_named_capabilities():
            return original(self, reader, wrapper)
        return original(type(self)(_OnAnyDevice(self.cls)), reader, wrapper)

    return read


def _recording(original: Any) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile_op(cachable: Any, *args: Any) -> Any:
        compiled = original(cachable, *args)
        record_compiled(compiled.name, cachable._identity[-1])
        return compiled

    setattr(compile_op, "cache_clear", original.cache_clear)
    return compile_op
