# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The bytes of found executables, for programs that serialize them.

XLA serializes some loaded executables without their functions. So an executable that was found is serialized as the bytes
that were found. An executable can't be referenced weakly: its bytes are kept under the addresses of the Python object and of
XLA's own, until another executable has the first.
"""

from __future__ import annotations

import functools
from typing import Any, Callable


class _Found:
    """Thread-safe, except for `attach`."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[Any, bytes]] = {}
        self._attached = False

    def attach(self) -> None:
        """Changes the package, for the rest of the process: executables that were found outlive the plug-in."""
        from jax._src.lib import _jax

        if self._attached:
            return
        self._attached = True
        for name in dir(_jax.Client):
            if name.startswith(("compile", "deserialize")):  # the functions that make executables
                setattr(_jax.Client, name, self._forgetting(getattr(_jax.Client, name)))
        serialize, serialize_of_client = _jax.LoadedExecutable.serialize, _jax.Client.serialize_executable
        _jax.LoadedExecutable.serialize = lambda executable: self._serialized(executable, serialize, executable)
        _jax.Client.serialize_executable = lambda client, executable, *more, **named: self._serialized(
            executable, serialize_of_client, client, executable, *more, **named)

    def add(self, executable: Any, value: bytes) -> None:
        """Keeps the value of an executable that was loaded from it."""
        self._values[id(executable)] = executable.unsafe_executable_pointer, value

    def _forgetting(self, make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def made(*given: Any, **named: Any) -> Any:
            executable = make(*given, **named)
            self._values.pop(id(executable), None)
            return executable

        return made

    def _serialized(self, executable: Any, serialize: Callable[..., bytes], *given: Any, **named: Any) -> bytes:
        pointer, value = self._values.get(id(executable), (None, b""))
        if value and pointer == executable.unsafe_executable_pointer:
            return serialized_of(value)[0]
        return serialize(*given, **named)


def serialized_of(value: bytes) -> tuple[bytes, int]:
    """Returns the serialized executable of a value, and the milliseconds of its compile."""
    from jax._src import compilation_cache

    entry = compilation_cache.decompress_executable(value)
    serialized, milliseconds = compilation_cache.extract_executable_and_time(entry)
    return serialized, milliseconds


FOUND = _Found()
