# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""An encoding that gives each description its own bytes.

A description is built of None, bool, int, float, complex, str, bytes and tuples of descriptions. Each is written as

    value  = tag(1) length(8, big endian) payload
    tuple  = "T" count(8) value*

Two descriptions never have the same bytes: 1, 1.0 and True differ, and so do 0.0 and -0.0.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, Callable, Tuple

Description = Tuple[Any, ...]


class Refused(Exception):
    """An object has no identity that is valid in another process. The text names the object and the reason."""


def encode(description: Any) -> bytes:
    """Returns the bytes of a description. Raises Refused for a value of another type or of a subclass."""
    parts: list[bytes] = []
    _write(description, parts)
    return b"".join(parts)


def digest(description: Any) -> str:
    """Returns the SHA-256 of a description's bytes, in hexadecimal."""
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
