# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The changes to numba-cuda-mlir that link the code of objects with ``__numba_cuda_link__`` into the kernels that call
them."""

from __future__ import annotations

import functools
from typing import Any, Callable

from numba_cuda_mlir import mlir_lowering, tools
from numba_cuda_mlir.descriptor import MLIRTypingContext
from numba_cuda_mlir.lowering_utilities import memref_data_pointer
from numba_cuda_mlir.numba_cuda import types
from numba_cuda_mlir.numba_cuda.core.sigutils import normalize_signature
from numba_cuda_mlir.numba_cuda.cudadrv import linkable_code
from numba_cuda_mlir.numba_cuda.typing.templates import Signature

from .._numba.link_lists import Backend, CFunction, LinkLists, links_code
from .._numba.linked_calls import called_object, resolving, type_of_c_functions
from .._numba.nvmath_code import NvmathCode
from .._plugin.leases import Deposits
from .._plugin.switch import Patches
from .._plugin.report import Report

CFunctionType = type_of_c_functions(types, Signature)


class LinkHooks:
    """Makes and undoes the changes. For one thread at a time."""

    def __init__(self, release: str, report: Report, deposits: Deposits):
        self._links = LinkLists(Backend(release, types, linkable_code, normalize_signature), report, deposits)
        self._nvmath = NvmathCode(report, deposits)
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect compiled kernels."""
        resolve = resolving(MLIRTypingContext.resolve_value_type, CFunctionType, self._links, self._nvmath)
        self._patches.replace(MLIRTypingContext, "resolve_value_type", resolve)
        lowering = mlir_lowering.MLIRLower
        lower = self._lowering(lowering.lower_call_expr_assign)
        self._patches.replace(lowering, "lower_call_expr_assign", lower)

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()
        self._nvmath.detach()

    def _lowering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def lower_call(lower: Any, target: Any, called: Any, args: Any, kws: Any, expr: Any = None) -> Any:
            kind = lower.get_numba_type(called.name)
            named = isinstance(kind, CFunctionType)
            value = kind.value if named else called_object(lower.func_ir.get_definition, called)
            if not links_code(value):
                return original(lower, target, called, args, kws, expr)
            given = tuple(types.unliteral(lower.get_numba_type(one.name)) for one in args)
            capability = tools.resolve_gpu_target(lower.targetoptions)["cc"]
            for code in self._links.codes(value, given, "%d.%d" % capability):
                lower.link_external_item(code)
            if not named:
                return original(lower, target, called, args, kws, expr)
            return _call(lower, target, self._links.function(value, given), given, args)

        return lower_call


def _call(lower: Any, target: Any, function: CFunction, kinds: tuple[Any, ...], args: Any) -> None:
    """Emits the call of a C function, with pointers to the data of arrays."""
    passed = []
    for kind, parameter, variable in zip(kinds, function.parameters, args):
        value = lower.load_var(variable)
        pointed = isinstance(kind, types.Array)
        value = memref_data_pointer(value) if pointed else lower.lower_cast(kind, parameter, value)
        passed += lower._flatten_abi_value(lower.as_argument(parameter, value))
    form = lower._external_abi_function_type(Signature(function.returns, function.parameters, None))
    callee = mlir_lowering.get_or_insert_function(function.symbol, form, lower.mlir_gpu_module)
    answer = mlir_lowering.func.call(result=list(form.results), callee=callee.name.value, operands_=passed)
    if form.results:
        result = lower.from_return(function.returns, lower._call_results_tuple(answer)[0])
        lower.store_var(target, result)
