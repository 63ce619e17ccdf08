# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The compilers that this process has loaded or will load, by their contents, and the packages that it has."""

from __future__ import annotations

import ctypes
import glob
import os
from importlib import metadata
from typing import Iterable

from .canonical import Description, Refused
from .file_digests import contents_digest

_BUILTINS = "libnvrtc-builtins.so"


def loaded_copies(name: str) -> list[str]:
    """The paths of the library that this process has loaded under a name that starts so: several if it has copies.

    Raises Refused if it has none, or several with other contents: the loader alone knows which of them is called.
    """
    paths = _loaded(name)
    if not paths:
        raise Refused(f"{name} is not loaded")
    if len({contents(path) for path in paths}) > 1:
        raise Refused(f"more than one {name} is loaded: {', '.join(paths)}")
    return paths


def nvrtc_builtins(copies: Iterable[str]) -> Description:
    """The digests of what NVRTC loads at its first compile: the files beside it, or beside each of its copies.

    Their names don't count: installations of one release give them different ones. Raises Refused if there are none, or
    if the loader took or would take one with other contents from elsewhere.
    """
    known: dict[str, Description] = {}
    for nvrtc in copies:
        beside = builtins_beside(nvrtc)
        if not beside:
            raise Refused(f"NVRTC's builtins do not lie beside {nvrtc}")
        known[nvrtc] = tuple(sorted({contents(path) for path in beside}))
        for path in _loaded(_BUILTINS) or _preferred_to(map(os.path.basename, beside)):
            if contents(path) not in known[nvrtc]:
                raise Refused(f"NVRTC's builtins come from {path}, and not from beside {nvrtc}")
    if len(set(known.values())) > 1:
        raise Refused(f"copies of NVRTC have other builtins beside them: {', '.join(known)}")
    return next(iter(known.values()))


def builtins_beside(nvrtc: str) -> list[str]:
    """The paths of the builtins in the directory of this NVRTC."""
    return glob.glob(f"{glob.escape(os.path.dirname(nvrtc))}/{_BUILTINS}*")


def _preferred_to(names: Iterable[str]) -> list[str]:
    """Returns the files that the loader uses for names with a version, before it looks beside the library that loads them."""
    wanted = [name for name in names if ".so." in name]
    paths = (os.path.join(directory, name) for directory in _library_path() for name in wanted)
    return [path for path in paths if os.path.exists(path)]


def _library_path() -> list[str]:
    """LD_LIBRARY_PATH as the loader has it: from when the process began. An empty part is the working directory."""
    with open("/proc/self/environ", "rb") as environment:
        for variable in environment.read().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"LD_LIBRARY_PATH" and value:
                return [part or "." for part in os.fsdecode(value).replace(";", ":").split(":")]
    return []


def _loaded(name: str) -> list[str]:
    """The paths of the files that this process has mapped under a name that starts so."""
    paths: dict[str, None] = {}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            _, slash, path = line.rstrip("\n").partition("/")
            if slash and os.path.basename(path).startswith(name):
                paths[os.path.realpath(slash + path)] = None
    return list(dict.fromkeys(map(behind_standin, paths)))


def behind_standin(path: str) -> str:
    """The file of NVIDIA's library for which `cccl-cache-cli run` has mapped this one; the path itself if it has not.

    Raises Refused if the stand-in does not know it.
    """
    try:
        ask = ctypes.CDLL(path, mode=os.RTLD_NOLOAD).cccl_cache_standin_real_path
    except (OSError, AttributeError):
        return path
    ask.restype = ctypes.c_char_p
    real = os.fsdecode(ask())
    if not real:
        raise Refused(f"what {path} stands in for is not known")
    # A library that needs a stand-in is asked as well, and the stand-in answers.
    library = os.path.basename(path).partition(".so")[0]
    return real if os.path.basename(real).startswith(library) else path


def contents(path: str) -> str:
    """The digest of a file or directory. Raises Refused if it can't be read."""
    try:
        return contents_digest(path)
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}") from None


def version(name: str) -> str:
    """The installed release of a package. Raises Refused if there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        raise Refused(f"the package {name} has no version") from None
