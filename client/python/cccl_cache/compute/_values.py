# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the values that a device function reaches: scalars, arrays of the host, types, other functions.

What is not known here has no identity that is sure to hold in another process, and is refused.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
import threading
import types
import weakref
from typing import Any

import numpy

from ._canonical import Description, Refused, digest, encode
from ._functions import Walk

_LARGEST_FROZEN_ARRAY = 16 << 20
_MODULES = {"math": math, "cmath": cmath, "operator": operator, "_operator": operator, "numpy": numpy}
_SCALARS = (type(None), bool, int, float, complex, str, bytes)


def describe_value(value: Any, walk: Walk) -> Description:
    """The description of one value. Raises Refused with what it is and why it has none."""
    kind = type(value)
    if kind in _SCALARS:
        return ("value", value)
    if kind is tuple:
        return ("tuple", tuple(describe_value(element, walk) for element in value))
    if isinstance(value, numpy.dtype):
        return describe_dtype(value)
    if isinstance(value, numpy.generic):
        return ("numpy scalar", describe_dtype(value.dtype), value.tobytes())
    if hasattr(kind, "__cuda_array_interface__") or _on_device(value):
        raise Refused("an array on the device is reached, and its address would be part of the code")
    if isinstance(value, numpy.ndarray):
        return _frozen_array(value)
    if hasattr(value, "py_func"):
        return _describe_dispatcher(value, walk)
    if isinstance(value, type):
        return _describe_type(value)
    named = _library_function(value)
    if named is not None:
        return named
    raise Refused(_why(value))


def describe_dtype(dtype: numpy.dtype) -> Description:
    """The layout of a NumPy type, with names, offsets and alignment."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ("array of", describe_dtype(base), tuple(int(extent) for extent in shape))
    common = (dtype.name, dtype.str, dtype.itemsize, dtype.alignment)
    if dtype.fields is None:
        return ("dtype", *common, f"{dtype.type.__module__}.{dtype.type.__qualname__}")
    fields = tuple((name, describe_dtype(dtype.fields[name][0]), dtype.fields[name][1]) for name in dtype.names)
    return ("record", *common[2:], dtype.isalignedstruct, fields)


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


def _on_device(value: Any) -> bool:
    try:
        return hasattr(value, "__cuda_array_interface__")
    except Exception:
        return True


def _frozen_array(array: numpy.ndarray) -> Description:
    if type(array) is not numpy.ndarray or array.dtype.hasobject:
        raise Refused("an array of a class of its own, or of objects")
    if array.nbytes > _LARGEST_FROZEN_ARRAY:
        raise Refused(f"an array of {array.nbytes} bytes, which would be part of the code")
    return ("array", describe_dtype(array.dtype), array.shape, array.strides, array.tobytes())


def _describe_type(kind: type) -> Description:
    if issubclass(kind, numpy.generic) and kind.__module__.partition(".")[0] in ("numpy", "ml_dtypes"):
        return ("scalar type", describe_dtype(numpy.dtype(kind)))
    if getattr(builtins, kind.__name__, None) is kind:
        return ("builtin", kind.__name__)
    if hasattr(kind, "_type_descriptor") and hasattr(kind, "_field_spec"):
        return ("gpu_struct", kind.__name__, describe_type_descriptor(kind._type_descriptor))
    raise Refused(f"the class {kind.__module__}.{kind.__qualname__}")


def _library_function(value: Any) -> Description | None:
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    if isinstance(value, types.BuiltinFunctionType) and getattr(builtins, name, None) is value:
        return ("builtin", name)
    home = "numpy" if isinstance(value, numpy.ufunc) else getattr(value, "__module__", None)
    module = _MODULES.get(home) if isinstance(home, str) else None
    if module is None or getattr(module, name, None) is not value:
        return None
    return ("library", module.__name__, name)


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


def _why(value: Any) -> str:
    kind = type(value)
    if isinstance(value, types.FunctionType):
        return f"the function '{value.__name__}' is not compiled by cuda.jit"
    if isinstance(value, (list, dict, set, bytearray)):
        return f"a {kind.__name__} can change after it was compiled in"
    return f"a value of type {kind.__module__}.{kind.__qualname__} has no identity outside this process"
