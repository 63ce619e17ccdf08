# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a compile of Warp: all that decides the cubin."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import threading
from typing import Any, Iterable, Mapping, Optional

from .._plugin.canonical import Description, Refused
from .._plugin.loaded import contents, loaded_copies
from ._headers import read_headers

# Described in another way than by their values. The compiler keeps precompiled headers in `pch_dir`, by their contents.
_OTHERWISE = {"cu_path", "output_path", "pch_dir", "ltoirs", "fatbins", "extra_include_dirs"}
_VARIABLES = ("NVRTC", "NVVM_", "NV_NVVM_", "LIBNVVM_", "NVJITLINK_", "LLVM_OVERRIDE_", "EDG_")
_REFUSED_VARIABLES = {
    "NVRTC_APPEND_FLAGS": "may name files", "WARP_DEBUG": "prints the options", "WARP_DUMP_LTOIR": "writes files",
}
_PLACE = re.compile(rb"^([ \t]*//.*)<L \d+>$|^// .*:\d+$", re.MULTILINE)
# Warp's authors found that a compile without optimization may spoil later compiles of its process. Warp 1.19 avoids it.
_unoptimized = threading.Event()


def fields_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields for the arguments of build_cuda. Raises Refused if a result besides the cubin is wanted, or an
    input can't be described."""
    with open(given["cu_path"], "rb") as file:
        source = file.read()
    directories = _directories(given)
    headers = read_headers(source, directories, bool(given["use_precompiled_headers"]))
    _refuse_other_results(given)
    with_paths = given["lineinfo"] or given["config"] == "debug" or given["verify_fp"] or headers.located
    return {
        **{name: value for name, value in given.items() if name not in _OTHERWISE},
        "name": os.path.basename(given["cu_path"]),  # NVRTC makes it part of the names of static variables
        "source": hashlib.sha256(_without_places(source)).hexdigest(),
        "headers": headers.files,
        "paths": (os.getcwd(), *directories) if with_paths else (),
        "linked": (_digests(given["ltoirs"]), _digests(given["fatbins"])),
        "ptx": is_ptx(given["output_path"]),
        "library": _library(),
        "variables": tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(_VARIABLES))),
    }


def shows_a_directory(result: bytes, given: Mapping[str, Any]) -> bool:
    """Returns whether a result has the path of an include directory."""
    return any(os.fsencode(directory) in result for directory in _directories(given))


def is_ptx(output: str) -> bool:
    """Returns whether Warp writes PTX to a file of this name."""
    return output.endswith(".ptx")


def _refuse_other_results(given: Mapping[str, Any]) -> None:
    import warp

    if given["optimization_level"] == 0:
        _unoptimized.set()
    if _unoptimized.is_set():
        raise Refused("a compile of this process without optimization")
    if given["llvm_cuda"]:
        raise Refused("Clang compiles the module")
    if not getattr(warp.config, "cache_kernels", True):
        raise Refused("Warp's cache is off")
    if given["compile_time_trace"]:
        raise Refused("a trace of the compile is wanted")
    if getattr(warp.config, "verbose", False) or getattr(warp.config, "log_level", 20) <= 10:  # as build_cuda decides
        raise Refused("the compiler's log is wanted")
    for name, reason in _REFUSED_VARIABLES.items():
        if name in os.environ:
            raise Refused(f"the variable {name} {reason}")


def _directories(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the include directories, Warp's own first."""
    from warp._src import build

    directories = [os.path.join(build.warp_home, "native"), *map(os.fspath, given.get("extra_include_dirs", ()))]
    if not all(os.path.isabs(each) and os.path.isdir(each) for each in directories):
        raise Refused("an include directory that Warp does not take")
    return tuple(map(os.path.realpath, directories))


def _without_places(source: bytes) -> bytes:
    """Returns a source without the paths and line numbers of the Python file, which Warp writes into comments."""
    if b'R"' in source or b"\\\n" in source:  # in a string, such a line may be no comment
        return source
    return _PLACE.sub(rb"\1", source)


@functools.lru_cache(maxsize=1)
def _library() -> str:
    """Returns the digest of the loaded library, which has NVRTC in it. The record of Warp's wheel has a digest as well, but
    no time or size shows that the library has not changed since."""
    return contents(loaded_copies("warp.so")[0])


def _digests(linked: Optional[Iterable[bytes]]) -> Description:
    return tuple(hashlib.sha256(each).hexdigest() for each in linked or ())
