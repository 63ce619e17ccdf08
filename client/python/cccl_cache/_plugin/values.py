# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the values that any device function may reach: scalars, arrays of the host, NumPy's types and functions
of known libraries.

A value of any other type is refused, because its identity may not be valid in another process.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
import types
from typing import Any, Optional

import numpy

from .canonical import Description, Refused
from .functions import Walk

_LARGEST_FROZEN_ARRAY = 16 << 20
_MODULES = {"math": math, "cmath": cmath, "operator": operator, "_operator": operator, "numpy": numpy}
_SCALARS = (type(None), bool, int, float, complex, str, bytes)


def describe_plain(value: Any, walk: Walk) -> Optional[Description]:
    """Returns the description of a value, or None for another type. Raises Refused for an array without a description."""
    kind = type(value)
    if kind in _SCALARS:
        return ("value", value)
    if kind is tuple:
        return ("tuple", tuple(walk.value(element) for element in value))
    if isinstance(value, numpy.dtype):
        return describe_dtype(value)
    if isinstance(value, numpy.generic):
        return ("numpy scalar", describe_dtype(value.dtype), value.tobytes())
    if hasattr(kind, "__cuda_array_interface__") or _on_device(value):
        raise Refused("an array on the device is reached, and its address would be part of the code")
    if isinstance(value, numpy.ndarray):
        return _frozen_array(value)
    if isinstance(value, type):
        return _plain_type(value)
    return _library_function(value)


def describe_dtype(dtype: numpy.dtype) -> Description:
    """Returns the layout of a NumPy type, with names, offsets and alignment."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ("array of", describe_dtype(base), tuple(int(extent) for extent in shape))
    common = (dtype.name, dtype.str, dtype.itemsize, dtype.alignment)
    if dtype.fields is None:
        return ("dtype", *common, f"{dtype.type.__module__}.{dtype.type.__qualname__}")
    fields = tuple((name, describe_dtype(dtype.fields[name][0]), dtype.fields[name][1]) for name in dtype.names)
    return ("record", *common[2:], dtype.isalignedstruct, fields)


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
    writeable = bool(array.flags.writeable)  # part of the array's type in numba
    return ("array", describe_dtype(array.dtype), array.shape, array.strides, writeable, array.tobytes())


def _plain_type(kind: type) -> Optional[Description]:
    if issubclass(kind, numpy.generic) and kind.__module__.partition(".")[0] in ("numpy", "ml_dtypes"):
        return ("scalar type", describe_dtype(numpy.dtype(kind)))
    return ("builtin", kind.__name__) if getattr(builtins, kind.__name__, None) is kind else None


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


def why_refused(value: Any) -> str:
    """Returns the reason for which a value has no description."""
    kind = type(value)
    if isinstance(value, types.FunctionType):
        return f"the function '{value.__name__}' is not compiled by cuda.jit"
    if isinstance(value, (list, dict, set, bytearray)):
        return f"a {kind.__name__} can change after it was compiled in"
    return f"a value of type {kind.__module__}.{kind.__qualname__} has no identity outside this process"
