# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The part of a function's identity that its code object decides, and the names that the code looks up.

The identity leaves out file, lines and docstring. It has constants with their exact type, and nested functions whole.
"""

from __future__ import annotations

import dis
import inspect
import sys
import types
from typing import Any, NamedTuple

from .canonical import Description, Refused, digest

_STARTS_FROM_A_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME"}
_STARTS_FROM_A_CELL = {"LOAD_DEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_REFUSED = {
    "STORE_GLOBAL": "it assigns a global",
    "DELETE_GLOBAL": "it deletes a global",
    "IMPORT_NAME": "it imports a module",
    "LOAD_BUILD_CLASS": "it defines a class",
}
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_KEPT = 4096


class Lookup(NamedTuple):
    """A name that code looks up, with the attributes that it reads from the object behind the name."""

    name: str
    attributes: tuple[str, ...]


class Code(NamedTuple):
    """The facts about a code object. They are computed once, because a code object never changes."""

    digest: str
    globals: tuple[Lookup, ...]
    cells: tuple[Lookup, ...]


_known: dict[int, tuple[types.CodeType, Code]] = {}


def describe_code(function: types.FunctionType) -> Code:
    """Returns the part of a function's identity that its code decides. Raises Refused for code that no kernel may have."""
    code = function.__code__
    known = _known.get(id(code))
    if known is not None and known[0] is code:
        return known[1]
    found = _Names()
    described = Code(
        digest((sys.implementation.cache_tag, _describe(code, found, _docstring(function)))),
        tuple(sorted(found.globals)),
        tuple(sorted(found.cells)),
    )
    if len(_known) >= _KEPT:
        _known.clear()
    _known[id(code)] = (code, described)
    return described


class _Names:
    def __init__(self) -> None:
        self.globals: set[Lookup] = set()
        self.cells: set[Lookup] = set()


def _docstring(function: types.FunctionType) -> str | None:
    constants = function.__code__.co_consts
    text = function.__doc__
    if text is None or not constants or constants[0] != text:
        return None
    # Python merges equal constants, so code may also use the constant that holds the docstring.
    used = any(each.opcode in dis.hasconst and each.arg == 0 for each in dis.get_instructions(function.__code__))
    return None if used else text


def _describe(code: types.CodeType, found: _Names, docstring: str | None = None) -> Description:
    if code.co_flags & _SUSPENDS:
        raise Refused("it is a generator or a coroutine")
    _collect(code, found)
    constants = code.co_consts
    if docstring is not None:
        constants = (None,) + constants[1:]
    return (
        code.co_name,
        code.co_code,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        getattr(code, "co_exceptiontable", b""),
        tuple(_constant(constant, found) for constant in constants),
    )


def _constant(value: Any, found: _Names) -> Description:
    if isinstance(value, types.CodeType):
        return ("code", _describe(value, found))
    if type(value) is tuple:
        return ("tuple", tuple(_constant(element, found) for element in value))
    if type(value) is frozenset:
        return ("frozenset", tuple(sorted(digest(_constant(element, found)) for element in value)))
    if value is Ellipsis:
        return ("ellipsis",)
    return ("value", value)


def _collect(code: types.CodeType, found: _Names) -> None:
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    for position, instruction in enumerate(instructions):
        if instruction.opname in _REFUSED:
            raise Refused(_REFUSED[instruction.opname])
        if instruction.opname in _STARTS_FROM_A_GLOBAL:
            names = found.globals
        elif instruction.opname in _STARTS_FROM_A_CELL:
            names = found.cells
        else:
            continue
        attributes = []
        for following in instructions[position + 1 :]:
            if following.opname not in _ATTRIBUTES:
                break
            attributes.append(following.argval)
        names.add(Lookup(instruction.argval, tuple(attributes)))
