# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the arguments from which cuda.compute builds an algorithm.

A description has types, iterators and operators. It leaves out addresses, sizes, states and initial values, which are
bound at each call.
"""

from __future__ import annotations

import enum
import inspect
from typing import Any, Callable

import numpy

from .._plugin.canonical import Description, Refused
from .._plugin.functions import Walk
from .._plugin.values import describe_dtype
from ._frozen import check_not_frozen
from ._values import describe_type_descriptor, describe_value


def describe_construction(wrapper: Any, initializer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Description:
    """Returns all inputs of a build of this algorithm, except the compute capability. Raises Refused."""
    bound = inspect.signature(initializer).bind(wrapper, *args, **kwargs)
    bound.apply_defaults()
    named = dict(list(bound.arguments.items())[1:])
    named.pop("compute_capability", None)
    described = tuple((name, _describe(name, value)) for name, value in sorted(named.items()))
    return (type(wrapper).__module__, type(wrapper).__qualname__, described)


def compiles_python(description: Description) -> bool:
    """Returns whether a description holds a Python function. The key then covers numba's compiler too."""
    if description and description[0] in ("stateless", "stateful"):
        return True
    return any(compiles_python(part) for part in description if isinstance(part, tuple))


def operator_digest_part(function: Any) -> Description:
    """Returns the identity of a Python operator for the caches of cuda.compute."""
    return Walk(describe_value, _state_of(function)).function(function)


def _describe(name: str, value: Any) -> Description:
    from cuda.compute.algorithms import DoubleBuffer
    from cuda.compute.iterators._base import IteratorBase
    from cuda.compute.op import OpAdapter

    if name == "h_num_output_levels":
        return ("levels", int(value[0]))
    if value is None or type(value) in (bool, int, str):
        return ("value", value)
    if isinstance(value, enum.Enum):
        return ("enumerator", type(value).__qualname__, value.name)
    if isinstance(value, OpAdapter):
        return _describe_operator(value)
    if isinstance(value, IteratorBase):
        return _describe_iterator(value)
    if type(value) is DoubleBuffer:
        return ("double buffer", _describe(name, value.current()), _describe(name, value.alternate()))
    return _describe_data(value)


def _describe_data(value: Any) -> Description:
    from cuda.compute import ProxyValue
    from cuda.compute._cccl_interop import get_value_type
    from cuda.compute._utils.protocols import get_dtype, is_contiguous, is_device_array
    from cuda.compute.struct import _Struct

    if is_device_array(value) and not isinstance(value, _Struct):
        if not is_contiguous(value):
            raise Refused("an array that is not contiguous")
        kind = "array"
    elif isinstance(value, (numpy.ndarray, _Struct, ProxyValue)):
        kind = "value"
    else:
        raise Refused(f"an argument of type {type(value).__module__}.{type(value).__qualname__}")
    return (kind, describe_dtype(get_dtype(value)), describe_type_descriptor(get_value_type(value)))


def _describe_operator(operator: Any) -> Description:
    from cuda.compute.op import RawOp, _WellKnownOp

    kind = type(operator)
    if kind is _WellKnownOp:
        return ("well-known", operator.kind.name)
    if kind is RawOp:
        return _describe_raw(operator)
    if kind.__module__ == "cuda.compute._jit":
        state = _state_of(operator.func)
        if kind.__name__ == "_StatelessOp" and not state:
            return ("stateless", Walk(describe_value).function(operator.func))
        if kind.__name__ == "_StatefulOp":
            return _describe_stateful(operator, state)
    raise Refused(f"an operator of type {kind.__module__}.{kind.__qualname__}")


def _describe_raw(operator: Any) -> Description:
    codes = (operator._ltoir, *operator._extra_ltoirs)
    return (
        "raw",
        operator._name,
        tuple(_code(code) for code in codes),
        len(operator._state),
        operator._state_alignment,
    )


def _code(code: Any) -> Description:
    if isinstance(code, bytes):
        return ("ltoir", code)
    return (code.kind, bytes(code.op_bytes))


def _describe_stateful(operator: Any, state: dict[str, Description]) -> Description:
    function = operator.func
    names = tuple(operator._state.names)
    if set(names) != set(state):
        raise Refused("the operator's arrays changed after it was made")
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        raise Refused("its source, from which it is compiled again with its arrays as parameters, can't be read") from None
    ordered = tuple((name, state[name]) for name in names)
    return ("stateful", ordered, source, Walk(describe_value, state).function(function))


def _state_of(function: Any) -> dict[str, Description]:
    """Returns the arrays on the device that cuda.compute binds at each call, by the names that the function uses."""
    from cuda.compute._jit import _extract_state
    from cuda.compute._utils.protocols import get_dtype, get_shape

    names, arrays = _extract_state(function)
    return {
        name: ("bound at each call", describe_dtype(get_dtype(array)), tuple(int(extent) for extent in get_shape(array)))
        for name, array in zip(names, arrays)
    }


def _describe_iterator(iterator: Any) -> Description:
    from cuda.compute import iterators
    from cuda.compute.iterators._pointer import PointerIterator

    kind = type(iterator)
    if kind is not PointerIterator and getattr(iterators, kind.__name__, None) is not kind:
        raise Refused(f"the iterator class {kind.__module__}.{kind.__qualname__}")
    return (
        kind.__name__,
        describe_type_descriptor(iterator.value_type),
        len(bytes(memoryview(iterator.state))),
        int(iterator.state_alignment),
        _PARTS.get(kind.__name__, lambda _: ())(iterator),
    )


def _transform(iterator: Any) -> Description:
    operator = _describe_operator(iterator._transform_op)
    if operator[0] == "stateful":
        raise Refused("an iterator's operator that captures arrays on the device")
    check_not_frozen(iterator)
    return (iterator._is_input, operator, _describe_iterator(iterator._underlying))


_PARTS: dict[str, Callable[[Any], Description]] = {
    "CacheModifiedInputIterator": lambda it: (it._modifier,),
    "PermutationIterator": lambda it: (_describe_iterator(it._values), _describe_iterator(it._indices)),
    "ReverseIterator": lambda it: (_describe_iterator(it._underlying),),
    "ZipIterator": lambda it: tuple(_describe_iterator(part) for part in it._iterators),
    "TransformIterator": _transform,
    "TransformOutputIterator": _transform,
}
