# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What decides the results of Inductor and is not in torch's own keys."""

from __future__ import annotations

import functools
import glob
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from typing import Optional

from .._plugin.canonical import Refused
from .._plugin.file_digests import file_digest

# Lines of /proc/cpuinfo that decide which instructions the processor has, and what -march=native means.
_OF_PROCESSOR = {
    "vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part"
}
_PTXAS = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
_OF_COMPILER = (
    "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "SOURCE_DATE_EPOCH"
)


@functools.lru_cache(maxsize=1)
def processor() -> tuple[str, ...]:
    """Describes the processor. Inductor's code for it depends on its instructions, and -march=native on its model."""
    with open("/proc/cpuinfo") as file:
        return tuple(sorted({line.strip() for line in file if line.partition(":")[0].strip() in _OF_PROCESSOR}))


def assemblers() -> tuple[str, ...]:
    """Returns the digests of the assemblers that Triton may call. Its key has their versions at most."""
    return _digests(tuple(os.environ.get(name, "") for name in _PTXAS))


@functools.lru_cache(maxsize=None)
def _digests(named: tuple[str, ...]) -> tuple[str, ...]:
    triton = importlib.util.find_spec("triton")
    homes = list(triton.submodule_search_locations or ()) if triton is not None else []
    found = [sorted(glob.glob(f"{glob.escape(home)}/backends/nvidia/bin/ptxas*")) for home in homes]
    return (*(path and file_digest(path) for path in named), *(file_digest(path) for each in found for path in each))


def host_compiler(name: str) -> tuple[Optional[str], ...]:
    """Describes a compiler of host C++ with the environment that it reads."""
    return (*_compiler(name), *(os.environ.get(each) for each in _OF_COMPILER))


@functools.lru_cache(maxsize=None)
def _compiler(name: str) -> tuple[str, ...]:
    words = shlex.split(name)  # torch accepts "ccache g++"
    version = subprocess.run([*words, "--version"], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    path = shutil.which(words[0])
    if path is None:
        raise Refused(f"the compiler {name} is not found")
    return file_digest(os.path.realpath(path)), version


def interpreter() -> str:
    """Describes the interpreter, whose pickles and headers are inputs."""
    return sys.version
