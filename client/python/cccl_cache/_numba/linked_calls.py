# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Typing of calls of objects that name a C function, in either compiler of numba's kind: their classes have the same
names and forms in both."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Optional

from .link_lists import LinkLists, is_c_function, links_code
from .nvmath_code import NvmathCode


def type_of_c_functions(library: types.ModuleType, signature: Callable[..., Any]) -> Any:
    """The class of the types of such objects, for a compiler with this module of types and this class of signatures."""

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
            return type(self)  # without an implementation: the call itself is lowered by the plug-in

    return CFunctionType


def resolving(original: Callable[..., Any], kind: Any, links: LinkLists, nvmath: NvmathCode) -> Callable[..., Any]:
    """Types the objects that name a C function and that nothing else has a type for."""

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
    """The object that is called, or a method of which is: a global, a captured value, an attribute of a module.

    `definition` returns what defines a variable, or raises KeyError. None if it is not known before the kernel runs.
    """
    try:
        found = definition(variable)
    except KeyError:
        return None
    fields = vars(found)  # an expression raises KeyError for an attribute that it has not
    if "op" not in fields:
        return fields.get("value")  # of a global, a captured value or a constant
    if found.op != "getattr":
        return None
    owner = called_object(definition, found.value)
    return getattr(owner, found.attr, None) if isinstance(owner, types.ModuleType) else owner
