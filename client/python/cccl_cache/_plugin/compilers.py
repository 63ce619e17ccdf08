# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The files of nvcc and of host compilers, and the directories that they search unasked."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from typing import NamedTuple, Optional

_TOOLS_OF_CUDA = ("nvcc", "nvcc.profile", "cudafe++", "ptxas", "fatbinary", "nvlink", "crt")
_LIBRARIES_OF_CUDA = ("libcudadevrt.a", "libcudart_static.a")
_TOOLS_OF_HOST = ("cc1", "cc1plus", "collect2", "as", "ld")


class Compiler(NamedTuple):
    """A compiler: `files` (directories too) decide what it makes, and it searches `includes` for headers."""

    files: tuple[str, ...]
    includes: tuple[str, ...]
    version: str


def compiler(program: str, host: tuple[str, ...]) -> Optional[Compiler]:
    """Returns the compiler that a path runs, or None for another program. `host` are the options of nvcc that choose the
    host compiler."""
    return _compiler(program, host, tuple(sorted(os.environ.items())))


@functools.lru_cache(maxsize=16)
def _compiler(program: str, host: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> Optional[Compiler]:
    return _nvcc(program, host) or _host_compiler(program)


def _nvcc(program: str, host: tuple[str, ...]) -> Optional[Compiler]:
    lines = _told(program, "--dryrun", *host, "-c", "-x", "cu", os.devnull).splitlines()
    told = dict(line[3:].split("=", 1) for line in lines if line.startswith("#$ ") and "=" in line)
    try:
        bin, cicc, libdevice = told["_HERE_"], told["CICC_PATH"], told["NVVMIR_LIBRARY_DIR"]
    except KeyError:
        return None
    runs = next(shlex.split(line[3:])[0] for line in lines if line.startswith("#$ ") and " -D__CUDA_ARCH_LIST__" in line)
    found = _host_compiler(shutil.which(runs) or runs)
    if found is None:
        return None
    tools = [os.path.join(bin, each) for each in _TOOLS_OF_CUDA]
    libraries = [os.path.join(place, each) for place in _after("-L", told.get("LIBRARIES", "")) for each in _LIBRARIES_OF_CUDA]
    files = [program, *tools, os.path.join(cicc, "cicc"), os.path.join(libdevice, "libdevice.10.bc"), *libraries]
    includes = [*_after("-I", told.get("INCLUDES", "")), *_after("-isystem", told.get("SYSTEM_INCLUDES", ""))]
    return Compiler((*filter(os.path.exists, files), *found.files), (*includes, *found.includes), found.version)


def _host_compiler(program: str) -> Optional[Compiler]:
    told = _told(program, "-x", "c++", "-E", "-v", os.devnull)
    _, begins, rest = told.partition("#include <...> search starts here:\n")
    if not begins:
        return None
    includes = rest.partition("End of search list.")[0].split("\n")
    tools = (_told(program, f"-print-prog-name={each}").strip() for each in _TOOLS_OF_HOST)
    files = (shutil.which(each) for each in tools)
    return Compiler((program, *(each for each in files if each)), tuple(each.strip() for each in includes if each),
                    _told(program, "--version"))


def library_file(program: str, name: str) -> str:
    """Returns the path at which a host compiler finds a library, or its name if there is none."""
    return _told(program, f"-print-file-name={name}").strip()


def _after(option: str, words: str) -> list[str]:
    """Returns the directories that follow an option, as one word with it or as the next word."""
    split = shlex.split(words)
    joined = [each[len(option):] for each in split if each.startswith(option) and each != option]
    return joined + [after for each, after in zip(split, split[1:]) if each == option]


def _told(program: str, *arguments: str) -> str:
    """Returns the messages of a program, in English."""
    ended = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, errors="replace", env={**os.environ, "LC_ALL": "C"})
    return ended.stdout
