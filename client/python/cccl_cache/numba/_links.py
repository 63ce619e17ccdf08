# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The changes to numba-cuda that link the code of objects with ``__numba_cuda_link__`` into the kernels that call them."""

from __future__ import annotations

import functools
from typing import Any, Callable

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core.callconv import CUDACABICallConv
from numba.cuda.core.sigutils import normalize_signature
from numba.cuda.core.targetconfig import ConfigStack
from numba.cuda.cudadrv import linkable_code
from numba.cuda.datamodel.models import OpaqueModel
from numba.cuda.extending import register_model
from numba.cuda.lowering import CUDALower
from numba.cuda.target import CUDATypingContext
from numba.cuda.typing.templates import Signature

from .._numba.link_lists import Backend, CFunction, LinkLists, links_code
from .._numba.linked_calls import called_object, resolving, type_of_c_functions
from .._numba.nvmath_code import NvmathCode
from .._plugin.leases import Deposits
from .._plugin.switch import Patches
from .._plugin.report import Report
from ._together import nobody_else_compiles

CFunctionType = type_of_c_functions(types, Signature)
register_model(CFunctionType)(OpaqueModel)


class LinkHooks:
    """Makes and undoes the changes. For one thread at a time."""

    def __init__(self, release: str, report: Report, deposits: Deposits):
        self._links = LinkLists(Backend(release, types, linkable_code, normalize_signature), report, deposits)
        self._nvmath = NvmathCode(report, deposits)
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect compiled kernels."""
        resolve = resolving(CUDATypingContext.resolve_value_type, CFunctionType, self._links, self._nvmath)
        self._patches.replace(CUDATypingContext, "resolve_value_type", resolve)
        self._patches.replace(CUDALower, "lower_call", self._lowering(CUDALower.lower_call))

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()
        self._nvmath.detach()

    def _lowering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def lower_call(lower: Any, returned: Any, expression: Any) -> Any:
            kind = lower.typeof(expression.func.name)
            named = isinstance(kind, CFunctionType)
            value = kind.value if named else called_object(lower.func_ir.get_definition, expression.func)
            if not links_code(value):
                return original(lower, returned, expression)
            signature = lower.fndesc.calltypes[expression]
            target = "%d.%d" % ConfigStack().top().compute_capability
            with nobody_else_compiles():
                codes = self._links.codes(value, signature.args, target)
            for code in codes:
                lower.context.active_code_library.add_linking_file(code)
            if not named:
                return original(lower, returned, expression)
            given = lower.fold_call_args(kind, signature, expression.args, expression.vararg, expression.kws)
            function = self._links.function(value, signature.args)
            result = _call(lower.context, lower.builder, function, signature.args, given)
            return lower.context.cast(lower.builder, result, signature.return_type, returned)

        return lower_call


def _call(context: Any, builder: Any, function: CFunction, kinds: tuple[Any, ...], given: Any) -> Any:
    """Emits the call of a C function, with pointers to the data of arrays."""
    passed = []
    for kind, parameter, value in zip(kinds, function.parameters, given):
        if isinstance(kind, types.Array):
            data = context.make_array(kind)(context, builder, value).data
            passed.append(builder.bitcast(data, context.get_value_type(parameter)))
        else:
            passed.append(context.cast(builder, value, kind, parameter))
    convention = CUDACABICallConv(context)
    form = convention.get_function_type(function.returns, function.parameters)
    void = function.returns in (types.void, types.none)
    if void:  # numba's own call of a C function returns void as a pointer
        form = ir.FunctionType(ir.VoidType(), form.args)
    callee = cgutils.get_or_insert_function(builder.module, form, function.symbol)
    if void:
        builder.call(callee, convention._get_arg_packer(function.parameters).as_arguments(builder, passed))
        return context.get_dummy_value()
    return convention.call_function(builder, callee, function.returns, function.parameters, passed)[1]
