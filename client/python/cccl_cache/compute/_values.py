# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the values that an operator of cuda.compute reaches."""

from __future__ import annotations

from typing import Any

from .._plugin.canonical import Description, Refused
from .._plugin.dispatchers import DispatcherForm
from .._plugin.functions import Walk
from .._plugin.values import describe_dtype, describe_plain, why_refused

_DISPATCHERS = DispatcherForm(
    "numba_cuda_mlir",
    {
        "link": "it links other code",
        "extensions": "it has extensions",
        "debug": "it is compiled for debugging",
        "cc": "it is bound to a compute capability",
        "chip": "it is bound to a compute capability",
    },
)


def describe_value(value: Any, walk: Walk) -> Description:
    """Returns the description of a value. Raises Refused with the reason if the value has none."""
    description = describe_plain(value, walk)
    if description is not None:
        return description
    if hasattr(value, "py_func"):
        return _DISPATCHERS.describe(value, walk)
    if isinstance(value, type):
        return _describe_type(value)
    raise Refused(why_refused(value))


def describe_type_descriptor(descriptor: Any) -> Description:
    """Returns a type's kind, size, alignment and members, without its name."""
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
