# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The change to Warp: a compile by its own NVRTC is a step. The value is the cubin or PTX that the compile writes.

It lies below Warp's kernel cache, which is asked first.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Optional

from .._plugin.compile_steps import CompileSteps
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches
from ._headers import compiled_before
from ._key import fields_of, is_ptx, shows_a_directory


class WarpHooks:
    """Makes and undoes the change. For one thread at a time; compiles may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = CompileSteps(namespace, settings, report)
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        from warp._src import build, context

        if context.runtime is not None:
            compiled_before.set()
        self._patches.replace(build, "build_cuda", self._stepping(build.build_cuda))

    def detach(self) -> None:
        """Undoes the change."""
        self._patches.undo()

    def _stepping(self, original: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def build_cuda(*args: Any, **kwargs: Any) -> None:
            compile = functools.partial(original, *args, **kwargs)
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError:  # which Warp raises too
                return compile()
            given.apply_defaults()
            module = _Module(given.arguments)
            return self._steps.run("a module", module.fields, compile, module.pack, module.load)

        return build_cuda


class _Module:
    """One compile."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self._output = given["output_path"]
        self._fields: dict[str, Any] = {}

    def fields(self) -> dict[str, Any]:
        self._fields = fields_of(self._given)
        return self._fields

    def pack(self, _: None) -> Optional[bytes]:
        if fields_of(self._given) != self._fields:  # a file changed during the compile
            return None
        with open(self._output, "rb") as file:
            made = file.read()
        return None if not self._fields["paths"] and shows_a_directory(made, self._given) else made

    def load(self, value: bytes) -> None:
        if not is_ptx(self._output) and not value.startswith(b"\x7fELF"):
            raise ValueError("a value is no cubin")
        with open(self._output, "wb") as file:
            file.write(value)
