# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The identity of a Python function that becomes device code: its code and values, not its name or file.

Two functions have one identity if their code is equal and all values that it reaches are equal: defaults, annotations,
captured variables, globals and called functions. A function that reaches a value without an identity has none itself.
"""

from __future__ import annotations

import builtins
import importlib
import types
from typing import Any, Callable, Iterator, Mapping

from .canonical import Description, Refused, digest
from .code import Lookup, describe_code

_MISSING = object()


class Walk:
    """One traversal of a function and of all values that it reaches. Not thread-safe.

    `describe` returns the description of a value or raises Refused. `state` names the top function's arrays on the
    device, which are bound at each call. `libraries` are the packages of compilers, whose files are in the key.
    """

    def __init__(
        self,
        describe: Callable[[Any, "Walk"], Description],
        state: Mapping[str, Description] | None = None,
        libraries: tuple[str, ...] = ("numba_cuda_mlir",),
    ):
        self._describe = describe
        self._state = dict(state or {})
        self._libraries = libraries
        self._visited: dict[int, int] = {}
        self._met: set[int] = set()
        self.apart = False

    def alone(self) -> "Walk":
        """Returns a walk that begins at a function that this walk has reached. Its descriptions therefore do not depend
        on the path to the function. It has `apart` set."""
        other = Walk(self._describe, libraries=self._libraries)
        other.apart = True
        return other

    def meets(self, value: object) -> bool:
        """Returns whether the walk meets a value for the first time. The value must live as long as the walk."""
        first = id(value) not in self._met
        self._met.add(id(value))
        return first

    def value(self, value: Any) -> Description:
        """Returns the description of a value that a function reaches."""
        return self._describe(value, self)

    def function(self, function: types.FunctionType) -> Description:
        """Returns the description of a function. The description of a repeated function is the number of its first visit."""
        if type(function) is not types.FunctionType:
            raise Refused(f"{_named(function)} is not a plain function")
        if id(function) in self._visited:
            return ("visited", self._visited[id(function)])
        state = self._state if not self._visited else {}
        self._visited[id(function)] = len(self._visited)
        code = describe_code(function)
        return (
            "function",
            function.__name__,
            code.digest,
            self.value(function.__defaults__),
            self._named_values(function.__kwdefaults__ or {}),
            self._named_values(_annotations(function)),
            tuple(self._cells(function, code.cells, state)),
            tuple(self._globals(function, code.globals, state)),
        )

    def _named_values(self, values: Mapping[str, Any]) -> Description:
        return tuple((name, self.value(values[name])) for name in sorted(values))

    def _cells(
        self, function: types.FunctionType, lookups: tuple[Lookup, ...], state: Mapping[str, Description]
    ) -> Iterator[Description]:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name in state:
                yield (name, "state", state[name])
                continue
            try:
                value = cell.cell_contents
            except ValueError:
                raise Refused(f"the captured variable '{name}' has no value yet") from None
            chains = sorted({lookup.attributes for lookup in lookups if lookup.name == name}) or [()]
            for attributes in chains:
                yield (name, *self._resolved(name, value, attributes))

    def _globals(
        self, function: types.FunctionType, lookups: tuple[Lookup, ...], state: Mapping[str, Description]
    ) -> Iterator[Description]:
        for name, attributes in lookups:
            if name in state:
                yield (name, "state", state[name])
                continue
            value, where = _look_up(function, name)
            yield (name, where, *self._resolved(name, value, attributes))

    def _resolved(self, name: str, value: Any, attributes: tuple[str, ...]) -> Description:
        taken = []
        owner = None
        for attribute in attributes:
            if not isinstance(value, types.ModuleType):
                break
            owner, value = value, getattr(value, attribute, _MISSING)
            if value is _MISSING:
                value = self._submodule(owner, attribute)
            taken.append(attribute)
            if value is _MISSING:
                raise Refused(f"'{'.'.join([name, *taken])}' is not there")
        if isinstance(value, types.ModuleType):
            raise Refused(f"the module '{'.'.join([name, *taken])}' is used as a value")
        if owner is not None:
            named = self._of_a_library(owner, taken[-1], value)
            if named is not None:
                return (".".join(taken), named)
        return (".".join(taken), self.value(value))

    def _submodule(self, owner: types.ModuleType, name: str) -> Any:
        """Returns a submodule of a compiler's package. Some packages import such a module only at their first compile."""
        if owner.__name__.partition(".")[0] not in self._libraries:
            return _MISSING
        try:
            return importlib.import_module(f"{owner.__name__}.{name}")
        except ImportError:
            return _MISSING

    def _of_a_library(self, owner: types.ModuleType, attribute: str, value: Any) -> Description | None:
        """Returns the name of an object that a compiler's package defines, whose files are in the key. None for an object
        that is described by its value."""
        if owner.__name__.partition(".")[0] not in self._libraries or hasattr(value, "py_func"):
            return None
        home = getattr(value, "__module__", None) or type(value).__module__
        if home.partition(".")[0] not in self._libraries:
            return None
        return ("library", owner.__name__, attribute)


def function_digest(
    function: types.FunctionType,
    describe: Callable[[Any, Walk], Description],
    state: Mapping[str, Description] | None = None,
) -> str:
    """Returns the SHA-256 of a function's identity, in hexadecimal. Raises Refused with the reason."""
    return digest(Walk(describe, state).function(function))


def _look_up(function: types.FunctionType, name: str) -> tuple[Any, str]:
    value = function.__globals__.get(name, _MISSING)
    if value is not _MISSING:
        return value, "global"
    scope = function.__globals__.get("__builtins__", builtins)
    scope = vars(scope) if isinstance(scope, types.ModuleType) else scope
    value = scope.get(name, _MISSING)
    if value is _MISSING:
        raise Refused(f"the global '{name}' is not defined")
    return value, "builtin"


def _annotations(function: types.FunctionType) -> Mapping[str, Any]:
    resolved = {}
    for name, annotation in (function.__annotations__ or {}).items():
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, function.__globals__)  # as typing.get_type_hints does
            except Exception:
                raise Refused(f"the annotation of '{name}' can't be resolved") from None
        resolved[name] = annotation
    return resolved


def _named(value: Any) -> str:
    kind = type(value)
    return f"{getattr(value, '__name__', None) or 'a value'} of type {kind.__module__}.{kind.__qualname__}"
