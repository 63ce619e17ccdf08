# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of what a kernel of numba-cuda reaches: values, functions under cuda.jit, types, foreign functions."""

from __future__ import annotations

import enum
import re
import sys
from typing import Any, Iterator

from numba.cuda import dispatcher, types
from numba.cuda.compiler import ExternFunction
from numba.cuda.typing.templates import ConcreteTemplate

from .._plugin.canonical import Description, Refused
from .._plugin.dispatchers import DispatcherForm
from .._plugin.functions import Walk
from .._plugin.registrations import describe_package
from .._plugin.values import describe_plain, why_refused
from ._link_files import describe_link_files

LIBRARIES = ("numba", "numba_cuda")
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")

REFUSED_OPTIONS = {
    "debug": "it is compiled for debugging",
    "lineinfo": "it has the lines of its source",
    "extensions": "it has extensions",
}


def _capability() -> Description:
    return tuple(dispatcher.get_current_device().compute_capability)


DISPATCHERS = DispatcherForm("numba", {**REFUSED_OPTIONS, "link": "it links other code"}, _capability)


def describe_value(value: Any, walk: Walk) -> Description:
    """The description of one value. Raises Refused with what it is and why it has none."""
    description = describe_plain(value, walk)
    if description is not None:
        return description
    kind = type(value)
    if isinstance(value, dispatcher.CUDADispatcher):
        return DISPATCHERS.describe(value, walk)
    if isinstance(value, types.Type):
        return describe_type(value, walk)
    if isinstance(value, enum.Enum):
        return ("member", _describe_enum(kind, walk), value.name)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return ("namedtuple", kind.__name__, tuple(kind._fields), tuple(walk.value(each) for each in value))
    if isinstance(value, type):
        return _describe_class(value, walk)
    if isinstance(value, ExternFunction):
        return _describe_extern(value, walk)
    named = _of_numba(value)
    if named is None:
        raise Refused(why_refused(value))
    return named


def describe_type(kind: Any, walk: Walk) -> Description:
    """A type of numba's: its class, its name and all types that it is made of."""
    if isinstance(kind, types.Dispatcher):
        return ("function", walk.value(kind.dispatcher))
    name = str(kind)
    if _ADDRESS.search(name):
        raise Refused(f"the type {name} is named by an address")
    home = type(kind).__module__
    package = None if home.partition(".")[0] in LIBRARIES else describe_package(home)
    parts = tuple((field, tuple(describe_type(part, walk) for part in found)) for field, found in _parts(kind))
    return ("type", f"{home}.{type(kind).__qualname__}", package, name, parts, _describe_instances(kind, walk))


def _parts(kind: Any) -> Iterator[tuple[str, list[Any]]]:
    """The types among a type's attributes, by attribute."""
    for field, value in sorted(vars(kind).items()):
        if isinstance(value, dict):
            value = tuple(value.values())
        found = [value] if isinstance(value, types.Type) else value if isinstance(value, (tuple, list)) else ()
        found = [part for part in found if isinstance(part, types.Type)]
        if found:
            yield field, found


def _describe_instances(kind: Any, walk: Walk) -> Description | None:
    """The values that a type stands for, where it does not name them."""
    if isinstance(kind, types.BaseNamedTuple):
        return tuple(kind.fields)
    if isinstance(kind, (types.EnumMember, types.EnumClass)):
        return _describe_enum(kind.instance_class, walk)
    if isinstance(kind, types.Omitted):
        return walk.value(kind.value)
    if isinstance(kind, types.Record):
        return tuple((name, field.offset, field.alignment, str(field.title)) for name, field in kind.fields.items())
    return None


def _describe_class(kind: type, walk: Walk) -> Description:
    if issubclass(kind, enum.Enum):
        return _describe_enum(kind, walk)
    if issubclass(kind, ConcreteTemplate) and isinstance(getattr(kind, "key", None), ExternFunction):
        return _describe_extern(getattr(kind, "key"), walk)
    named = _of_numba(kind)
    if named is None:
        raise Refused(f"the class {kind.__module__}.{kind.__qualname__}")
    return named


def _describe_enum(kind: Any, walk: Walk) -> Description:
    members = tuple((name, walk.value(member.value)) for name, member in kind.__members__.items())
    return ("enum", kind.__name__, issubclass(kind, int), members)


def _describe_extern(function: Any, walk: Walk) -> Description:
    """What cuda.declare_device made: the name and type of a function, and the code that defines it."""
    from numba.cuda.descriptor import cuda_target

    versions = cuda_target.target_context._defns[function].versions
    libraries = [library for _, made in versions for library in getattr(made, "libs", ())]
    form = tuple(type(getattr(made, "fndesc", made)).__name__ for _, made in versions)
    convention = tuple(
        type(getattr(getattr(made, "fndesc", None), "call_conv", None)).__name__ for _, made in versions
    )
    signature = (describe_type(function.sig.return_type, walk), *(describe_type(t, walk) for t in function.sig.args))
    files = tuple(sorted(digest for library in libraries for digest in describe_link_files(library._linking_files)))
    cooperative = tuple(bool(library.use_cooperative) for library in libraries)
    return ("extern", function.name, signature, form, convention, cooperative, files)


def _of_numba(value: Any) -> Description | None:
    """Names what numba-cuda itself defines, whose files are in the key."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    home = getattr(value, "__module__", None) or type(value).__module__
    if not isinstance(name, str) or home.partition(".")[0] not in LIBRARIES:
        return None
    return ("library", home, name) if getattr(sys.modules.get(home), name, None) is value else None
