# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The change to CuTe DSL: the compile of a traced module is a step.

It lies below CuTe DSL's own caches, which ``cute.compile`` does not use. The value is the compiled module in MLIR's
bytecode, which holds the cubin and the host's code, as in CuTe DSL's own files.
"""

from __future__ import annotations

import dataclasses
import functools
import io
from typing import Any, Callable, Optional

from .._plugin.canonical import Refused
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches
from ..steps import Step, Steps
from ._key import fields_of

_Compile = Callable[[Any], Any]  # with the state of CuTe DSL's caches


class CuteHooks:
    """Makes and undoes the change. For one thread at a time; compiles may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = Steps(namespace, group=settings.group, wait=settings.wait, client=settings.connect)
        self._report = report
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        from cutlass.base_dsl.compile_backend import LegacyCompilerBackend

        original = LegacyCompilerBackend._build_compiled_function
        self._patches.replace(LegacyCompilerBackend, "_build_compiled_function", self._stepping(original))

    def detach(self) -> None:
        """Undoes the change."""
        self._patches.undo()

    def _stepping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _build_compiled_function(backend: Any, ctx: Any, compile_gpu_arch: str, cache_state: Any) -> Any:
            def compile(state: Any) -> Any:
                return original(backend, ctx, compile_gpu_arch, state)

            fields = None if cache_state.cache_hit else self._described(backend, ctx, compile_gpu_arch)
            return compile(cache_state) if fields is None else self._make(fields, ctx, cache_state, compile)

        return _build_compiled_function

    def _described(self, backend: Any, ctx: Any, arch: str) -> Optional[dict[str, Any]]:
        """Returns the fields of a compile, or None if it must be left to the package."""
        try:
            return fields_of(backend, ctx, arch)
        except Refused as reason:
            self._report.not_cached(ctx.function_name, str(reason))
        except Exception as error:
            self._report.error(ctx.function_name, error)
        return None

    def _make(self, fields: dict[str, Any], ctx: Any, state: Any, compile: _Compile, replace: bool = False) -> Any:
        with self._steps.get(fields, replace=replace) as step:
            if step.value is not None and not replace:
                try:
                    return compile(_found(step.value, ctx, state))
                except Exception as error:  # the next module takes its place
                    self._report.error(ctx.function_name, error)
                    return self._make(fields, ctx, state, compile, replace=True)
            made = compile(state)
            if step.value is None:
                self._deposit(step, ctx, made)
            return made

    def _deposit(self, step: Step, ctx: Any, made: Any) -> None:
        try:
            packed = io.BytesIO()
            made.ir_module.operation.write_bytecode(packed)
            step.put(packed.getvalue())
        except Exception as error:
            self._report.error(ctx.function_name, error)


def _found(value: bytes, ctx: Any, state: Any) -> Any:
    """Returns CuTe DSL's description of a hit."""
    from cutlass._mlir import ir

    module = ir.Module.parse(value, context=ctx.module.context)
    return dataclasses.replace(state, module=module, cache_hit=True)
