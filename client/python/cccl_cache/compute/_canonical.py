# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes that stand for exactly one description.

A description is built of None, bool, int, float, complex, str, bytes and tuples of descriptions. Each is written as

    value  = tag(1) length(8, big endian) payload
    tuple  = "T" count(8) value*

so no two descriptions share their bytes: 1, 1.0 and True differ, and so do 0.0 and -0.0.

An iterator keeps the code of its operator. If a global that the operator uses changes later, the iterator's code is of
the old value while the operator describes itself with the new one. Such a pair must never be kept, so the identity that
an operator had when it was compiled is recorded here.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from collections import OrderedDict
from typing import Any, Callable, Tuple

Description = Tuple[Any, ...]


class Refused(Exception):
    """Something has no identity that holds in another process: the text says what and why."""


def encode(description: Any) -> bytes:
    """The bytes of a description. Raises Refused for a value of any other type, subclasses included."""
    parts: list[bytes] = []
    _write(description, parts)
    return b"".join(parts)


def digest(description: Any) -> str:
    """SHA-256 of the bytes of a description, in hexadecimal."""
    return hashlib.sha256(encode(description)).hexdigest()


def _write(value: Any, parts: list[bytes]) -> None:
    kind = type(value)
    if kind is tuple:
        parts.append(b"T" + len(value).to_bytes(8, "big"))
        for element in value:
            _write(element, parts)
        return
    try:
        tag, payload = _SCALARS[kind]
    except KeyError:
        raise Refused(f"a value of type {kind.__module__}.{kind.__qualname__}") from None
    data = payload(value)
    parts.append(tag + len(data).to_bytes(8, "big"))
    parts.append(data)


_SCALARS: dict[type, tuple[bytes, Callable[[Any], bytes]]] = {
    type(None): (b"N", lambda value: b""),
    bool: (b"B", lambda value: b"1" if value else b"0"),
    int: (b"I", lambda value: b"%x" % value if value >= 0 else b"-%x" % -value),
    float: (b"F", lambda value: struct.pack(">d", value)),
    complex: (b"C", lambda value: struct.pack(">dd", value.real, value.imag)),
    str: (b"S", lambda value: value.encode("utf-8", "surrogatepass")),
    bytes: (b"Y", lambda value: value),
}


_MOST_COMPILED = 4096
_compiled: OrderedDict[str, object] = OrderedDict()
_compiled_lock = threading.Lock()


def record_compiled(symbol: str, identity: object) -> None:
    """Notes that the code of `symbol`, a name that a process uses once, was compiled from this identity."""
    with _compiled_lock:
        _compiled[symbol] = identity
        while len(_compiled) > _MOST_COMPILED:
            _compiled.popitem(last=False)


def check_not_frozen(iterator: Any) -> None:
    """Raises Refused if an iterator holds code of its operator that is not of what the operator is now."""
    from cuda.compute._caching import CachableFunction

    function = getattr(iterator._transform_op, "func", None)
    if function is None:
        return
    for operation in iterator._compiled_op.values():
        with _compiled_lock:
            identity = _compiled.get(operation.name)
        if identity is None or identity != CachableFunction(function)._identity[-1]:
            raise Refused("an iterator was compiled before its operator changed")
