# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon's toolchain that has the same compiler files as this process, byte for byte."""

from __future__ import annotations

import functools
import hashlib
import os
from typing import Callable, Mapping, NamedTuple, Optional

import cccl_cache

from .canonical import Refused
from .file_digests import file_digest
from .loaded import builtins_beside, loaded_copies, nvrtc_builtins


class Compiler(NamedTuple):
    """A compiler that this process has loaded: its `component` as in the daemon's toolchains, its name in messages, its
    path, and its id as the daemon computes it (docs/internals/protocol.md)."""

    component: str
    name: str
    paths: tuple[str, ...]
    id: str


class OwnToolchain:
    """The id of the daemon's toolchain with the compiler that `find` returns. Asks the daemon once. Thread-safe."""

    def __init__(self, find: Callable[[], Compiler]):
        self._find = find
        self._id: Optional[str] = None

    def id(self, client: cccl_cache.Client, timeout: float) -> str:
        """Returns the id. If several toolchains have the compiler, it is that of the directory that this process has
        loaded. Raises Refused if no toolchain has the compiler, and the client's errors."""
        found = self._id
        if found is None:
            found = self._id = _matching(self._find(), client.toolchains(timeout=timeout).used)
        return found

    def failed(self, error: Exception) -> None:
        """Records the error of a build with the id. If the daemon has no such toolchain any more, the next call asks for
        the id again."""
        if getattr(error, "status", "") == "toolchain-not-found":
            self._id = None


@functools.lru_cache(maxsize=1)
def nvrtc() -> Compiler:
    """Returns NVRTC with its builtins. Raises Refused if NVRTC is not loaded, or if it has copies that differ."""
    copies = loaded_copies("libnvrtc.so")
    if len(nvrtc_builtins(copies)) != 1:
        raise Refused(f"NVRTC has other builtins beside it: {copies[0]}")
    return _compiler("nvrtc", "NVRTC", copies, {"builtins": builtins_beside(copies[0])[0]})


@functools.lru_cache(maxsize=1)
def nvjitlink() -> Compiler:
    """Returns nvJitLink. Raises Refused as `nvrtc` does."""
    return _compiler("nvjitlink", "nvJitLink", loaded_copies("libnvJitLink.so"), {})


@functools.lru_cache(maxsize=2)
def nvvm(libdevice: str) -> Compiler:
    """Returns libNVVM with the libdevice of the process. Raises Refused as `nvrtc` does."""
    return _compiler("nvvm", "libNVVM", loaded_copies("libnvvm.so"), {"libdevice": libdevice})


def _compiler(component: str, name: str, copies: list[str], beside: Mapping[str, str]) -> Compiler:
    hasher = hashlib.sha256(_tagged("shape", b""))
    for part, path in sorted({**beside, "library": copies[0]}.items()):
        try:
            contents = bytes.fromhex(file_digest(path))
        except OSError as error:
            raise Refused(f"{name} can't be read: {error}") from None
        hasher.update(_tagged("name", part.encode()) + _tagged("contents", contents))
    return Compiler(component, name, tuple(copies), hasher.hexdigest())


def _matching(own: Compiler, toolchains: tuple[cccl_cache.Toolchain, ...]) -> str:
    with_it = [
        (os.path.realpath(component.path) in own.paths, toolchain.id)
        for toolchain in toolchains
        for component in toolchain.components
        if component.name == own.component and component.id == own.id
    ]
    if not with_it:
        raise Refused(f"the daemon has no toolchain with the {own.name} of this process, {own.paths[0]}")
    return max(with_it, key=lambda each: each[0])[1]


def _tagged(tag: str, value: bytes) -> bytes:
    return bytes([len(tag)]) + tag.encode() + len(value).to_bytes(8, "little") + value
