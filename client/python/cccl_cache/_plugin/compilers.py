# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The files of nvcc and of host compilers, the directories that they search unasked, the variables that they read, and the
macros that differ from compile to compile."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
from typing import NamedTuple, Optional

from .canonical import Refused

# Only programs with such names are run: another one could do anything with the arguments that a compiler understands.
_NVCC = re.compile(r"([\w.+-]+-)?nvcc(-[\d.]+)?")
_HOST = re.compile(r"([\w.+-]+-)?(cc|c\+\+|gcc|g\+\+|clang|clang\+\+)(-[\d.]+)?")
_LONGEST_ANSWER = 60.0  # seconds; a busy machine needs two
# nvcc, its parts, the host compiler and the linker read these. nvcc adds the variables of nvcc.profile.
_VARIABLE = re.compile(
    r"(BINUTILS|COLLECT|EDG|GCC|NV)_.*|(CICC|CUDAFE|FINALIZER|LIBNVVM|LLVM|MLIR|NVASM|NVCC|NVDISASM|NVLINK|NVPTX|NVVM|PTXAS).*|"
    r"CCC_OVERRIDE_OPTIONS|COMPILER_PATH|CPATH|C(PLUS)?_INCLUDE_PATH|DEPENDENCIES_OUTPUT|GNUTARGET|(SYSTEM_)?INCLUDES|"
    r"LDEMULATION|LD_RUN_PATH|LIBRARIES|LIBRARY_PATH|LPATH|OCG_FLAGS|SOURCE_DATE_EPOCH|SUNPRO_DEPENDENCIES|TOP|USR_INCLUDE")
_TIME = re.compile(rb"__(?:DATE|TIME|TIMESTAMP)__")
_TOOLS_OF_CUDA = ("nvcc", "nvcc.profile", "cudafe++", "ptxas", "fatbinary", "nvlink", "crt")
_LIBRARIES_OF_CUDA = ("libcudadevrt.a", "libcudart_static.a")
_TOOLS_OF_HOST = ("cc1", "cc1plus", "collect2", "as", "ld")


class Compiler(NamedTuple):
    """A compiler: `files` (directories too) decide what it makes, and it searches `includes` for headers."""

    files: tuple[str, ...]
    includes: tuple[str, ...]
    version: str


def variables() -> tuple[tuple[str, str], ...]:
    """Returns the names and values of the set variables that compilers read."""
    return tuple(sorted(pair for pair in os.environ.items() if _VARIABLE.fullmatch(pair[0])))


def uses_time(text: bytes) -> bool:
    """Returns whether a text names the time of its compile or of its file, even if only in a comment."""
    return _TIME.search(text) is not None


def compiler(program: str, host: tuple[str, ...]) -> Optional[Compiler]:
    """Returns the compiler that a path runs, or None for another program. `host` are the options of nvcc that choose the
    host compiler."""
    return _compiler(program, host, tuple(sorted(os.environ.items())))


@functools.lru_cache(maxsize=16)
def _compiler(program: str, host: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> Optional[Compiler]:
    try:
        return _nvcc(program, host) if _NVCC.fullmatch(os.path.basename(program)) else _host_compiler(program)
    except Refused:
        return None


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
    if not _HOST.fullmatch(os.path.basename(program)):
        return None
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
    """Returns the messages of a program, in English. Raises Refused if it does not end in time."""
    with subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env={**os.environ, "LC_ALL": "C"}, start_new_session=True) as running:
        try:
            return running.communicate(timeout=_LONGEST_ANSWER)[0]
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)  # its children too, which may hold the pipe
            raise Refused(f"no answer of {program}") from None
