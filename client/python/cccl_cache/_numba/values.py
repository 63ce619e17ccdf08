# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the objects that a kernel of numba-cuda or numba-cuda-mlir reaches: values, functions under cuda.jit,
types and foreign functions. Both packages have the same classes of types."""

from __future__ import annotations

import enum
import re
import sys
import types as python_types
from typing import Any, Callable, Iterator, NamedTuple, Optional

from .._plugin.canonical import Description, Refused
from .._plugin.dispatchers import DispatcherForm
from .._plugin.functions import Walk
from .._plugin.registrations import describe_package
from .._plugin.values import describe_plain, why_refused
from .nvmath_code import brings_code, describe_code_of

_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")


class Values(NamedTuple):
    """The descriptions for one compiler. `libraries` are its packages and `types` is its module of types. `dispatcher` is
    its class of functions, and `dispatchers` describes them. `extern` describes a foreign function or returns None."""

    libraries: tuple[str, ...]
    types: python_types.ModuleType
    dispatcher: type
    dispatchers: DispatcherForm
    extern: Callable[[Any, Walk], Optional[Description]]

    def walk(self) -> Walk:
        """Returns a new traversal of a function."""
        return Walk(self.describe, libraries=self.libraries)

    def describe(self, value: Any, walk: Walk) -> Description:
        """Returns the description of a value. Raises Refused with the reason if the value has none."""
        description = describe_plain(value, walk)
        if description is not None:
            return description
        kind = type(value)
        foreign = self.extern(value, walk)
        if foreign is not None:
            return foreign
        if isinstance(value, self.dispatcher):
            return self.dispatchers.describe(value, walk)
        if isinstance(value, self.types.Type):
            return self.describe_type(value, walk)
        if isinstance(value, enum.Enum):
            return ("member", _describe_enum(kind, walk), value.name)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return ("namedtuple", kind.__name__, tuple(kind._fields), tuple(walk.value(each) for each in value))
        if isinstance(value, type):
            return self._class(value, walk)
        if brings_code(value):
            return describe_code_of(value)
        named = self._of_numba(value)
        if named is None:
            raise Refused(why_refused(value))
        return named

    def describe_type(self, kind: Any, walk: Walk) -> Description:
        """Returns the description of a type: its class, its name and the types that it is made of."""
        if isinstance(kind, self.types.Dispatcher):
            return ("function", walk.value(kind.dispatcher))
        name = str(kind)
        if _ADDRESS.search(name):
            raise Refused(f"the type {name} is named by an address")
        home = type(kind).__module__
        package = None if home.partition(".")[0] in self.libraries else describe_package(home)
        parts = tuple((field, tuple(self.describe_type(part, walk) for part in found)) for field, found in self._parts(kind))
        return ("type", f"{home}.{type(kind).__qualname__}", package, name, parts, self._instances(kind, walk))

    def _parts(self, kind: Any) -> Iterator[tuple[str, list[Any]]]:
        """Yields the types in each attribute of a type, with the attribute's name."""
        for field, value in sorted(vars(kind).items()):
            if isinstance(value, dict):
                value = tuple(value.values())
            found = [value] if isinstance(value, self.types.Type) else value if isinstance(value, (tuple, list)) else ()
            found = [part for part in found if isinstance(part, self.types.Type)]
            if found:
                yield field, found

    def _instances(self, kind: Any, walk: Walk) -> Optional[Description]:
        """Returns the description of a type's values if its name does not have them, else None."""
        if isinstance(kind, self.types.BaseNamedTuple):
            return tuple(kind.fields)
        if isinstance(kind, (self.types.EnumMember, self.types.EnumClass)):
            return _describe_enum(kind.instance_class, walk)
        if isinstance(kind, self.types.Omitted):
            return walk.value(kind.value)
        if isinstance(kind, self.types.Record):
            return tuple((name, field.offset, field.alignment, str(field.title)) for name, field in kind.fields.items())
        return None

    def _class(self, kind: type, walk: Walk) -> Description:
        if issubclass(kind, enum.Enum):
            return _describe_enum(kind, walk)
        named = self._of_numba(kind)
        if named is None:
            raise Refused(f"the class {kind.__module__}.{kind.__qualname__}")
        return named

    def _of_numba(self, value: Any) -> Optional[Description]:
        """Returns the name of an object of the compiler itself, whose files are in the key. None for other objects."""
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        home = getattr(value, "__module__", None) or type(value).__module__
        if not isinstance(name, str) or home.partition(".")[0] not in self.libraries:
            return None
        return ("library", home, name) if getattr(sys.modules.get(home), name, None) is value else None


def _describe_enum(kind: Any, walk: Walk) -> Description:
    members = tuple((name, walk.value(member.value)) for name, member in kind.__members__.items())
    return ("enum", kind.__name__, issubclass(kind, int), members)
