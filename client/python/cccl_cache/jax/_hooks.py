# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The change to JAX: XLA's compile of a module is a step.

It lies below JAX's own compilation cache, which is asked first if it has a directory. JAX calls the changed function without a
directory too, but not if `jax_enable_compilation_cache` is off or if JAX can't make its own key. The value is the serialized
executable with the milliseconds of the compile, in the format of an entry of JAX's cache, which has seconds.
"""

from __future__ import annotations

import functools
import inspect
import time
from typing import Any, Callable, Optional

from .._plugin.canonical import Refused
from .._plugin.compile_steps import CompileSteps
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches
from ._found import FOUND, serialized_of
from ._key import fields_of

_WAIT_IN_A_JOB = 60.0  # seconds


class JaxHooks:
    """Makes and undoes the change. For one thread at a time; compiles may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = CompileSteps(namespace, settings, report)
        # A compile may need the device, which may wait in a collective for another process of the job.
        self._steps_in_a_job = CompileSteps(namespace, settings._replace(wait=min(settings.wait, _WAIT_IN_A_JOB)), report)
        self._patches = Patches()
        # Whether XLA loads here what it serializes for the processor; None if this is not known yet.
        self._loads: Optional[bool] = None

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        from jax._src import compiler

        FOUND.attach()
        self._patches.replace(compiler, "_compile_and_write_cache", self._stepping(compiler._compile_and_write_cache))

    def detach(self) -> None:
        """Undoes the change."""
        self._patches.undo()

    def _stepping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from jax._src import compilation_cache, compiler, distributed

        # JAX itself does not cache host callbacks in releases in which this function asks for them.
        write_asks = "host_callbacks" in inspect.signature(compiler._cache_write).parameters

        @functools.wraps(original)
        def _compile_and_write_cache(backend: Any, computation: Any, executable_devices: Any, compile_options: Any,
                                     host_callbacks: Any, module_name: str, cache_key: str) -> Any:
            seconds, found = 0.0, False
            for_processor = backend.platform == "cpu"

            def fields() -> dict[str, Any]:
                if for_processor and self._loads is False:
                    raise Refused("XLA does not load its executables for this processor")
                return fields_of(backend, computation, list(executable_devices), compile_options,
                                 bool(host_callbacks) and write_asks)

            def compile() -> Any:
                nonlocal seconds
                began = time.monotonic()
                made = original(backend, computation, executable_devices, compile_options, host_callbacks, module_name, cache_key)
                seconds = time.monotonic() - began
                return made

            def deserialize(serialized: bytes) -> Any:
                callbacks = [host_callbacks] if host_callbacks else []
                return backend.deserialize_executable(serialized, executable_devices, compile_options, *callbacks)

            def pack(made: Any) -> bytes:
                serialized = made.serialize()
                if for_processor and self._loads is None:
                    try:
                        deserialize(serialized)
                    except Exception:
                        self._loads = False
                        raise
                    self._loads = True
                entry = compilation_cache.combine_executable_and_time(serialized, int(seconds * 1000))
                return bytes(compilation_cache.compress_executable(entry))

            def load(value: bytes) -> Any:
                nonlocal seconds, found
                serialized, milliseconds = serialized_of(value)
                made = deserialize(serialized)
                FOUND.add(made, value)
                seconds, found = milliseconds / 1000, True
                return made

            steps = self._steps if distributed.global_state.client is None else self._steps_in_a_job
            executable = steps.run(module_name, fields, compile, pack, load)
            if found:  # JAX's own cache keeps what took longer than its threshold, for processes without the plug-in
                asked = [host_callbacks] if write_asks else []
                compiler._cache_write(cache_key, seconds, module_name, backend, executable, *asked)
            return executable

        return _compile_and_write_cache
