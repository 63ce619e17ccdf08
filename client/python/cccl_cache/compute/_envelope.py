# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The form in which a build is deposited: what it is, and a digest that shows whether a bit of it changed.

    envelope = "CCCLPYB1" sha256(key ‖ build)(32) build(to the end)
"""

from __future__ import annotations

import hashlib
import hmac

_MAGIC = b"CCCLPYB1"
_HEADER = len(_MAGIC) + 32


def pack(key: str, build: bytes) -> bytes:
    """The envelope of a build that belongs to `key`."""
    return _MAGIC + _seal(key, build) + build


def unpack(key: str, envelope: bytes) -> bytes | None:
    """The build, or None if the envelope is not one, is damaged, or belongs to another key."""
    build = envelope[_HEADER:]
    if not envelope.startswith(_MAGIC) or not hmac.compare_digest(envelope[len(_MAGIC) : _HEADER], _seal(key, build)):
        return None
    return build


def _seal(key: str, build: bytes) -> bytes:
    return hashlib.sha256(key.encode() + build).digest()
