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
from typing import Any, Callable, NamedTuple, Optional

from .._plugin.canonical import Refused, digest
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches
from ..steps import Steps
from ._key import fields_of


class _Compile(NamedTuple):
    """One compile of CuTe DSL. `run` takes the state of CuTe DSL's caches, as `state` is without ours. `hook`, if there is
    one, changes the module after the passes, as for TVM-FFI."""

    run: Callable[[Any], Any]
    state: Any
    name: str
    fields: dict[str, str]
    provider: Any
    hook: Any


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

            described = None if cache_state.cache_hit else self._described(backend, ctx, compile_gpu_arch)
            if described is None:
                return compile(cache_state)
            fields, provider, hook = described
            return self._make(_Compile(compile, cache_state, ctx.function_name, fields, provider, hook))

        return _build_compiled_function

    def _described(self, backend: Any, ctx: Any, arch: str) -> Optional[tuple[dict[str, str], Any, Any]]:
        """Returns the fields of a compile, CuTe DSL's compiler and its hook. None if the compile must be left to CuTe DSL."""
        try:
            provider = backend._dsl.compiler_provider
            # Refuses a field of an unknown type here, where the step would raise an error.
            fields = {"compile": digest(tuple(sorted(fields_of(backend, ctx, arch).items())))}
            return fields, provider, provider._post_compile_hook
        except Refused as reason:
            self._report.not_cached(ctx.function_name, str(reason))
        except Exception as error:
            self._report.error(ctx.function_name, error)
        return None

    def _make(self, compile: _Compile, damaged: Optional[bytes] = None) -> Any:
        with self._steps.get(compile.fields, replace=damaged is not None) as step:
            if step.value is not None and step.value != damaged:
                try:
                    return compile.run(_found(step.value, compile))
                except Exception as error:
                    self._report.error(compile.name, error)
                    if damaged is None:  # the next module takes its place
                        return self._make(compile, step.value)
            made, packed = self._compiled(compile)
            if step.value is None:
                if packed is not None:
                    step.put(packed)
                else:
                    step.fail()
            return made

    def _compiled(self, compile: _Compile) -> tuple[Any, Optional[bytes]]:
        """Compiles. Returns the module too, as it was before CuTe DSL's hook: each process runs its own hook on it."""
        from cutlass.base_dsl.compiler import PostCompileHookContext

        if compile.hook is None:
            made = compile.run(compile.state)
            return made, self._packed(lambda: made.ir_module, compile.name)
        packed: list[Optional[bytes]] = []

        def pack_first(module: Any) -> None:
            if module is compile.state.module:  # and not that of another thread
                packed.append(self._packed(lambda: module, compile.name))
            compile.hook(module)

        with PostCompileHookContext(compile.provider, pack_first):
            made = compile.run(compile.state)
        return made, packed[0] if packed else None

    def _packed(self, module: Callable[[], Any], name: str) -> Optional[bytes]:
        try:
            packed = io.BytesIO()
            module().operation.write_bytecode(packed)
            return packed.getvalue()
        except Exception as error:
            self._report.error(name, error)
            return None


def _found(value: bytes, compile: _Compile) -> Any:
    """Returns CuTe DSL's description of a hit."""
    from cutlass._mlir import ir

    module = ir.Module.parse(value, context=compile.state.module.context)
    if compile.hook is not None:
        compile.hook(module)
    return dataclasses.replace(compile.state, module=module, cache_hit=True)
