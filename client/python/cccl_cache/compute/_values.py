# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the values that an operator of cuda.compute reaches."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .._plugin.canonical import Description, Refused, digest, encode
from .._plugin.functions import Walk
from .._plugin.values import describe_dtype, describe_plain, why_refused


def describe_value(value: Any, walk: Walk) -> Description:
    """The description of one value. Raises Refused with what it is and why it has none."""
    description = describe_plain(value, walk)
    if description is not None:
        return description
    if hasattr(value, "py_func"):
        return _describe_dispatcher(value, walk)
    if isinstance(value, type):
        return _describe_type(value)
    raise Refused(why_refused(value))


def describe_type_descriptor(descriptor: Any) -> Description:
    """A type of cuda.compute: its kind, size, alignment and what it is made of; not its name."""
    from cuda.compute import types as compute_types

    info = descriptor.info
    dtype = None if descriptor.dtype is None else describe_dtype(descriptor.dtype)
    common = (info.typenum.name, int(info.size), int(info.alignment), dtype)
    kind = type(descriptor)
    if kind is compute_types.StructTypeDescriptor:
        fields = tuple((name, describe_type_descriptor(field)) for name, field in descriptor.fields.items())
        return ("struct", *common, fields)
    if kind is compute_types.PointerTypeDescriptor:
        return ("pointer", *common, describe_type_descriptor(descriptor.pointee))
    if kind is compute_types.TypeDescriptor:
        return ("scalar", *common)
    raise Refused(f"the type {kind.__module__}.{kind.__qualname__}")


def _describe_type(kind: type) -> Description:
    if hasattr(kind, "_type_descriptor") and hasattr(kind, "_field_spec"):
        return ("gpu_struct", kind.__name__, describe_type_descriptor(kind._type_descriptor))
    raise Refused(f"the class {kind.__module__}.{kind.__qualname__}")


_seen_dispatchers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_seen_lock = threading.Lock()
_NO_INFLUENCE = {"cache", "profile_jit"}
_REFUSED_OPTIONS = {
    "link": "it links other code",
    "extensions": "it has extensions",
    "debug": "it is compiled for debugging",
    "cc": "it is bound to a compute capability",
    "chip": "it is bound to a compute capability",
}


def _describe_dispatcher(dispatcher: Any, walk: Walk) -> Description:
    kind = type(dispatcher)
    if kind.__module__.partition(".")[0] != "numba_cuda_mlir":
        raise Refused(f"a compiled function of {kind.__module__}")
    name = getattr(dispatcher.py_func, "__name__", "?")
    options = dict(dispatcher.targetoptions)
    for option, reason in _REFUSED_OPTIONS.items():
        if options.pop(option, None):
            raise Refused(f"cuda.jit function '{name}': {reason}")
    described = tuple((key, _option(name, key, options[key])) for key in sorted(options) if key not in _NO_INFLUENCE)
    description = ("dispatcher", walk.function(dispatcher.py_func), described)
    _check_unchanged(name, dispatcher, description)
    return description


def _option(name: str, option: str, value: Any) -> Description:
    if isinstance(value, (list, set)):
        value = tuple(sorted(value)) if isinstance(value, set) else tuple(value)
    try:
        encode(value)
    except Refused:
        raise Refused(f"cuda.jit function '{name}': its option '{option}'") from None
    return ("option", value)


def _check_unchanged(name: str, dispatcher: Any, description: Description) -> None:
    """A dispatcher keeps what it compiled first: its code must be that of what it looks like now."""
    now = digest(description)
    with _seen_lock:
        first = _seen_dispatchers.get(dispatcher)
        if first is None:
            if dispatcher.overloads:
                raise Refused(f"cuda.jit function '{name}' was compiled before it was seen here")
            _seen_dispatchers[dispatcher] = now
        elif first != now:
            raise Refused(f"cuda.jit function '{name}' changed after its first use")
