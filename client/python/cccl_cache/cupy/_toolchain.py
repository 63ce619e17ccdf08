# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon's toolchain whose NVRTC is that of this process, byte for byte."""

from __future__ import annotations

import functools
import hashlib
import os

import cccl_cache

from .._plugin.canonical import Refused
from .._plugin.file_digests import file_digest
from .._plugin.loaded import builtins_beside, loaded_copies, nvrtc_builtins


def toolchain_of_this_process(client: cccl_cache.Client, timeout: float) -> str:
    """The id of the toolchain. Of several, the one that this process has loaded. Raises Refused if there is none."""
    paths, own = _own_nvrtc()
    with_it = [
        (os.path.realpath(component.path) in paths, toolchain.id)
        for toolchain in client.toolchains(timeout=timeout).used
        for component in toolchain.components
        if component.name == "nvrtc" and component.id == own
    ]
    if not with_it:
        raise Refused(f"the daemon has no toolchain with the NVRTC of this process, {paths[0]}")
    return max(with_it, key=lambda each: each[0])[1]


@functools.lru_cache(maxsize=1)
def _own_nvrtc() -> tuple[list[str], str]:
    """Where NVRTC lies, and its id as the daemon computes it (docs/internals/protocol.md)."""
    copies = loaded_copies("libnvrtc.so")
    if len(nvrtc_builtins(copies)) != 1:
        raise Refused(f"NVRTC has other builtins beside it: {copies[0]}")
    try:
        files = (("builtins", file_digest(builtins_beside(copies[0])[0])), ("library", file_digest(copies[0])))
    except OSError as error:
        raise Refused(f"NVRTC can't be read: {error}") from None
    hasher = hashlib.sha256(_tagged("shape", b""))
    for name, contents in files:
        hasher.update(_tagged("name", name.encode()) + _tagged("contents", bytes.fromhex(contents)))
    return copies, hasher.hexdigest()


def _tagged(tag: str, value: bytes) -> bytes:
    return bytes([len(tag)]) + tag.encode() + len(value).to_bytes(8, "little") + value
