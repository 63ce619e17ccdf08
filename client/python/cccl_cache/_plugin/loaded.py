# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The compiler libraries that this process has loaded or will load, by their contents, and the installed packages."""

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
    """Returns the paths of a library that this process has loaded, found by the beginning of its name.

    There are several paths if the library has copies. Raises Refused if there is no path, or if copies differ: only the
    loader knows which copy is called.
    """
    paths = _loaded(name)
    if not paths:
        raise Refused(f"{name} is not loaded")
    if len({contents(path) for path in paths}) > 1:
        raise Refused(f"more than one {name} is loaded: {', '.join(paths)}")
    return paths


def nvrtc_builtins(copies: Iterable[str]) -> Description:
    """Returns the digests of the builtins that NVRTC loads at its first compile, from the directory of each of its copies.

    The names of these files don't count, because they differ between installations of one release. Raises Refused if
    there is no such file, or if the loader uses a file with other contents from another directory.
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
    """Returns the paths of the builtins in the directory of this NVRTC."""
    return glob.glob(f"{glob.escape(os.path.dirname(nvrtc))}/{_BUILTINS}*")


def _preferred_to(names: Iterable[str]) -> list[str]:
    """Returns the files that the loader prefers to those in NVRTC's directory, for file names with a version."""
    wanted = [name for name in names if ".so." in name]
    paths = (os.path.join(directory, name) for directory in _library_path() for name in wanted)
    return [path for path in paths if os.path.exists(path)]


def _library_path() -> list[str]:
    """Returns the LD_LIBRARY_PATH with which the process started: the loader ignores later changes. An empty part stands
    for the working directory."""
    with open("/proc/self/environ", "rb") as environment:
        for variable in environment.read().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"LD_LIBRARY_PATH" and value:
                return [part or "." for part in os.fsdecode(value).replace(";", ":").split(":")]
    return []


def _loaded(name: str) -> list[str]:
    """Returns the paths of mapped files whose names begin with `name`."""
    paths: dict[str, None] = {}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            _, slash, path = line.rstrip("\n").partition("/")
            if slash and os.path.basename(path).startswith(name):
                paths[os.path.realpath(slash + path)] = None
    return list(dict.fromkeys(map(behind_standin, paths)))


def behind_standin(path: str) -> str:
    """Returns the path of NVIDIA's library behind a stand-in of `cccl-cache-cli run`. Any other path is returned as is.

    Raises Refused if the stand-in does not know NVIDIA's library.
    """
    try:
        ask = ctypes.CDLL(path, mode=os.RTLD_NOLOAD).cccl_cache_standin_real_path
    except (OSError, AttributeError):
        return path
    ask.restype = ctypes.c_char_p
    real = os.fsdecode(ask())
    if not real:
        raise Refused(f"what {path} stands in for is not known")
    # dlsym finds the stand-in's function also through a library that depends on the stand-in.
    library = os.path.basename(path).partition(".so")[0]
    return real if os.path.basename(real).startswith(library) else path


def contents(path: str) -> str:
    """Returns the digest of a file or directory. Raises Refused if it can't be read."""
    try:
        return contents_digest(path)
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}") from None


def contents_of_all(paths: Iterable[str]) -> Description:
    """Returns the digests of files and directories, without those that lie in another one of them."""
    real = [os.path.realpath(path) for path in paths]
    return tuple(contents(path) for path in dict.fromkeys(real)
                 if not any(path.startswith(f"{other}{os.sep}") for other in real))


def version(name: str) -> str:
    """Returns the installed release of a package. Raises Refused if the package is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        raise Refused(f"the package {name} has no version") from None
