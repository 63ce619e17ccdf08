# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What decides the results of Inductor and is not in torch's own keys."""

from __future__ import annotations

import functools
import glob
import importlib.util
import os
import re
import shutil
import sys
from typing import Any, Optional

from .._plugin.canonical import Refused
from .._plugin.compilers import compiler, variables
from .._plugin.file_digests import file_digest

# Lines of /proc/cpuinfo that decide which instructions the processor has, and what -march=native means.
_OF_PROCESSOR = {
    "vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU implementer", "CPU architecture", "CPU variant",
    "CPU part",
}
_PTXAS = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
_LIBDEVICE = ("TRITON_LIBDEVICE_PATH", "nvidia.libdevice_path")  # the variable and the setting
# Variables of Triton and of what it calls, but for those of caches and messages, which decide no code.
_OF_TRITON = re.compile("TRITON_|PTXAS_|LLVM_|MLIR_|NVPTX_|AMDGCN_|DISABLE_(LLVM|MMA|PTXAS)_|USE_IR_LOC$|ALLOW_LHS_TMEM_")
_NO_CODE = re.compile("_(DIR|HOME)$|CACHE|REDIS|PRINT|PROTON|DUMP|TIMING|REPRODUCER")
_KNOBS = ("compilation", "runtime", "language", "nvidia", "amd")
_WATCHERS = re.compile("listener$|(launch|kernel|jit)_")  # functions of programs that change no code


@functools.lru_cache(maxsize=1)
def processor() -> tuple[str, ...]:
    """Describes the processor. Inductor's code for it depends on its instructions, and -march=native on its model."""
    with open("/proc/cpuinfo") as file:
        return tuple(sorted({line.strip() for line in file if line.partition(":")[0].strip() in _OF_PROCESSOR}))


def vectors_of(entry: bytes) -> bytes:
    """Returns the vector instructions for which torch generates and compiles C++ here; nothing for an entry without C++.

    They follow from the compiler and ATEN_CPU_CAPABILITY too. An entry without C++ does not need a compiler.
    """
    if b"cpp_prefix" not in entry:
        return b""
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    return str(pick_vec_isa()).encode()


def assemblers() -> tuple[str, ...]:
    """Returns the digests of the assemblers that Triton may call. Its key has their versions at most.

    At the first kernel that it compiles, Inductor sets Triton's variable to torch's own one, if there is one. That counts from
    the start, or the key of a graph would depend on whether those before it were found.
    """
    ptxas, blackwell = _PTXAS
    return _digests((os.environ.get(ptxas, _own_assembler()), os.environ.get(blackwell, "")))


def _own_assembler() -> str:
    torch = importlib.util.find_spec("torch")
    own = os.path.join(os.path.dirname(torch.origin or ""), "bin", "ptxas") if torch is not None else ""
    return own if os.path.isfile(own) and os.access(own, os.X_OK) else ""


@functools.lru_cache(maxsize=None)
def _digests(named: tuple[str, ...]) -> tuple[str, ...]:
    triton = importlib.util.find_spec("triton")
    homes = list(triton.submodule_search_locations or ()) if triton is not None else []
    found = [sorted(glob.glob(f"{glob.escape(home)}/backends/nvidia/bin/ptxas*")) for home in homes]
    return (*(path and file_digest(path) for path in named), *(file_digest(path) for each in found for path in each))


def triton_settings() -> tuple[tuple[str, Any], ...]:
    """Returns the variables and settings of Triton that decide its code. A found graph has code, used without Triton's key.

    Raises Refused for settings whose effect is not known.
    """
    named = {name: value for name, value in os.environ.items() if _OF_TRITON.match(name) and not _NO_CODE.search(name)}
    named.update(_set_by_program())
    libdevice = _libdevice(*(named.pop(name, None) for name in _LIBDEVICE))
    settings = {**{name: value for name, value in named.items() if name not in _PTXAS}, "libdevice": libdevice}
    return tuple((name, file_digest(value) if type(value) is str and os.path.isfile(value) else value)
                 for name, value in sorted(settings.items()))


def _libdevice(variable: Optional[str], setting: Optional[str]) -> str:
    """Returns the path of the device library that Triton links; empty for its own.

    With an option of Inductor, torch sets the variable and the setting at the first kernel that it compiles. As with
    `assemblers`, that counts from the start.
    """
    config = sys.modules.get("torch._inductor.config")
    numerics = getattr(config, "eager_numerics", None)
    wanted: Optional[bool] = getattr(numerics, "use_pytorch_libdevice", None)  # None: torch has no such option
    if wanted is None or not (wanted or getattr(config, "emulate_precision_casts", False)):
        return (variable if setting is None else setting) or ""
    return variable if variable is not None else setting or _libdevice_of_toolkit()


def _libdevice_of_toolkit() -> str:
    import torch
    from torch.utils.cpp_extension import CUDA_HOME

    path = os.path.join(CUDA_HOME or "", "nvvm/libdevice/libdevice.10.bc")
    return path if torch.version.cuda is not None and CUDA_HOME is not None and os.path.isfile(path) else ""


def _set_by_program() -> dict[str, Any]:
    """Returns the settings that the program has given a value, by their names in `triton.knobs`."""
    knobs = sys.modules.get("triton.knobs")
    groups = {group: getattr(getattr(knobs, group, None), "__dict__", {}) for group in _KNOBS}
    found = {f"{group}.{name}": value for group, given in groups.items() for name, value in given.items()
             if value is not None and not _WATCHERS.match(name)}
    for name, value in found.items():
        if type(value) not in (bool, int, float, str):
            raise Refused(f"triton.knobs.{name} is set")
    if found.get("compilation.override") or os.environ.get("TRITON_KERNEL_OVERRIDE"):
        raise Refused("kernels are replaced by files (TRITON_KERNEL_OVERRIDE)")
    return found


def host_compiler(name: str) -> tuple[str, ...]:
    """Describes a compiler of host C++ with its version, its files and the environment that it reads.

    Raises Refused for a command of several words, such as "ccache g++", and for a program that is no compiler.
    """
    path = shutil.which(name)
    found = compiler(path, ()) if path is not None else None
    if found is None:
        raise Refused(f"the compiler {name} is not known")
    return found.version, *map(file_digest, found.files), *(f"{variable}={value}" for variable, value in variables())


def interpreter() -> str:
    """Describes the interpreter, whose pickles and headers are inputs."""
    return sys.version
