# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The change to CuTe DSL: the compile of a traced module is a step.

It lies below CuTe DSL's own caches, which ``cute.compile`` does not use. The value is the compiled module in MLIR's
bytecode, which holds the cubin and the host's code, as in CuTe DSL's own files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
from typing import Any, Callable

from .._plugin.compile_steps import CompileSteps
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches
from ._key import fields_of


class CuteHooks:
    """Makes and undoes the change. For one thread at a time; compiles may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = CompileSteps(namespace, settings, report)
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
        from cutlass.base_dsl.compiler import PostCompileHookContext

        @functools.wraps(original)
        def _build_compiled_function(backend: Any, ctx: Any, compile_gpu_arch: str, cache_state: Any) -> Any:
            def build(state: Any) -> Any:
                return original(backend, ctx, compile_gpu_arch, state)

            if cache_state.cache_hit:
                return build(cache_state)
            provider = backend._dsl.compiler_provider
            hook = provider._post_compile_hook
            first: list[bytes] = []  # the module before CuTe DSL's hook: each process runs its own hook on it

            def compile() -> Any:
                if hook is None:
                    return build(cache_state)

                def pack_first(module: Any) -> None:
                    if module is cache_state.module:  # and not that of another thread
                        with contextlib.suppress(Exception):  # then `pack` raises an error
                            first.append(_packed(module))
                    hook(module)

                with PostCompileHookContext(provider, pack_first):
                    return build(cache_state)

            return self._steps.run(
                ctx.function_name, lambda: fields_of(backend, ctx, compile_gpu_arch), compile,
                lambda made: _packed(made.ir_module) if hook is None else first[0],
                lambda value: build(_found(value, cache_state, hook)))

        return _build_compiled_function


def _packed(module: Any) -> bytes:
    packed = io.BytesIO()
    module.operation.write_bytecode(packed)
    return packed.getvalue()


def _found(value: bytes, state: Any, hook: Any) -> Any:
    """Returns CuTe DSL's description of a hit."""
    from cutlass._mlir import ir

    module = ir.Module.parse(value, context=state.module.context)
    if hook is not None:
        hook(module)
    return dataclasses.replace(state, module=module, cache_hit=True)
