# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The typing of calls of objects that name a C function, for numba-cuda and numba-cuda-mlir. Their classes have the same
names and interfaces."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Optional

from .link_lists import LinkLists, is_c_function, links_code
from .nvmath_code import NvmathCode


def type_of_c_functions(library: types.ModuleType, signature: Callable[..., Any]) -> Any:
    """Returns the class of the types of objects that name a C function. `library` is the compiler's module of types."""

    class CFunctionType(library.Callable, library.Dummy):  # type: ignore[misc, name-defined]
        def __init__(self, value: Any, links: LinkLists):
            self.value = value
            self._links = links
            super().__init__(f"{type(value).__qualname__}({id(value)})")

        def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
            if kws:
                raise TypeError(f"{type(self.value).__qualname__} is called with keywords, which a C function does not have")
            given = tuple(map(library.unliteral, args))
            function = self._links.function(self.value, given)
            for one, parameter in zip(given, function.parameters):
                pointed = isinstance(one, library.Array) and isinstance(parameter, library.CPointer)
                if not pointed and context.can_convert(one, parameter) is None:
                    raise TypeError(f"'{function.symbol}' takes a {parameter} where {one} is given")
            return signature(function.returns, given, None)

        def get_call_signatures(self) -> Any:
            return (), True

        def get_impl_key(self, signature: Any) -> Any:
            return type(self)  # the type needs no implementation, because the plug-in lowers the call itself

    return CFunctionType


def resolving(original: Callable[..., Any], kind: Any, links: LinkLists, nvmath: NvmathCode) -> Callable[..., Any]:
    """Gives a type to objects that name a C function and have no other type."""

    @functools.wraps(original)
    def resolve_value_type(context: Any, value: Any) -> Any:
        nvmath.meet(value)
        try:
            return original(context, value)
        except ValueError as error:
            if is_c_function(value):
                return kind(value, links)
            if links_code(value):
                named = type(value).__qualname__
                raise ValueError(f"{error}: {named} links code, but has neither a type nor __numba_cuda_signature__") from None
            raise

    return resolve_value_type


def called_object(definition: Callable[[Any], Any], variable: Any) -> Optional[Any]:
    """Returns the object that a call names, or whose method it names: a global, a captured value or a module's attribute.

    `definition` returns the definition of a variable or raises KeyError. None if only a running kernel knows the object.
    """
    try:
        found = definition(variable)
    except KeyError:
        return None
    fields = vars(found)  # an expression raises KeyError for a missing attribute
    if "op" not in fields:
        return fields.get("value")  # the value of a global, a captured value or a constant
    if found.op != "getattr":
        return None
    owner = called_object(definition, found.value)
    return getattr(owner, found.attr, None) if isinstance(owner, types.ModuleType) else owner
