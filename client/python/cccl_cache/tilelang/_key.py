# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a compile of TileLang: TileLang's own key, and all that this key forgets.

TileLang's key has the kernel, the target, the options and TileLang's release. It has neither the compilers that make the
kernel nor the headers and the variables that these read.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from .._plugin.canonical import Description, Refused
from .._plugin.compilers import compiler, uses_time, variables
from .._plugin.loaded import contents, contents_of_all

if TYPE_CHECKING:
    from ._hooks import Request

_BACKENDS = ("cython", "tvm_ffi")
# Functions with which a program can change the code. TileLang sets the first one itself.
_COMPILE = "tilelang_callback_cuda_compile"
_REWRITE = ("tilelang_callback_cuda_postproc", "tilelang_callback_c_host_postproc")
# Options of a kernel with results outside its directory, or with source lines in the result.
_OTHER_RESULTS = ("cuda.kernels_output_dir", "tl.emit_line_directives", "tl.enable_dump_ir", "tl.pass_profile")
_FLAGS = "tl.device_compile_flags"
# Flags of nvcc that name no file. -I is served too, by the contents of the directory.
_PLAIN_FLAG = re.compile(
    r"-[DU]\w+(=[^/@]*)?|-O[0-3]|-w|-(Xptxas|-ptxas-options)=[^/@]*|--?(std|fmad|ftz|prec-div|prec-sqrt|maxrregcount)=[\w+]+|"
    r"--?(use_fast_math|expt-relaxed-constexpr|expt-extended-lambda|extra-device-vectorization)|-lineinfo|--generate-line-info")
_FAR_INCLUDE = re.compile(r"#\s*(include(_next)?|embed)\b(?!\s*\\*[\"<](?!/)(?![^\">]*\.\./)[\w./+-]+\\*[\">])")
# Variables of TileLang and TVM that do not decide a compile, or are in TileLang's key.
_UNKEYED = re.compile(
    r"TILELANG_(CACHE_DIR|DISABLE_CACHE|PRINT_ON_COMPILATION|COMPILE_TIMEOUT_SECONDS|AUTO_TUNING_.*|DEFAULT_TARGET|"
    r"EXECUTION_BACKEND|KERNEL_CACHE_USE_LIB_STAMP|JIT_DIAGNOSTICS|PASS_.*|VERBOSE)|TL_(CUTLASS_PATH|TEMPLATE_PATH|LOWER_.*)|"
    r"TVM_(FFI_CACHE_DIR|IMPORT_PYTHON_PATH|LIBRARY_PATH)|SKIP_LOADING_TILELANG_SO")


class Packages:
    """TileLang in this process, with what it loads. Thread-safe. Must be made before the program sets functions of its own."""

    def __init__(self) -> None:
        import tvm_ffi

        self.compile = tvm_ffi.get_global_func(_COMPILE)

    @functools.cached_property
    def contents(self) -> Description:
        """Returns the contents of the packages. They are loaded, so a later change of a file is not seen."""
        import tilelang
        import tvm
        import tvm_ffi
        import z3
        from tilelang.env import TL_LIBS

        folders = [os.path.dirname(package.__file__) for package in (tilelang, tvm, tvm_ffi, z3)]
        return contents_of_all([*folders, *TL_LIBS])


def fields_of(request: Request, packages: Packages) -> dict[str, Any]:
    """Returns the fields. Raises Refused if a result outside the kernel's directory is wanted, or an input can't be
    described."""
    from tilelang.contrib.cc import get_cplus_compiler
    from tilelang.contrib.nvcc import get_nvcc_compiler
    from tilelang.env import CUTLASS_INCLUDE_DIR, TILELANG_TEMPLATE_PATH
    from tvm.contrib.cc import get_cc
    from tvm.libinfo import find_include_path

    _refuse_others(request, packages)
    if request.context.execution_backend.name == "tvm_ffi":
        compilers = [_compiler(get_nvcc_compiler(), f"-ccbin={get_cplus_compiler()}"), _compiler(get_cc())]
        headers = find_include_path()
    else:
        compilers, headers = [_compiler(get_nvcc_compiler())], []
    return {
        "key": request.key,
        "packages": packages.contents,
        "headers": tuple(contents(path) for path in (TILELANG_TEMPLATE_PATH, CUTLASS_INCLUDE_DIR, *headers)),
        "flags": _flags(request),
        "compilers": tuple(compilers),
        "variables": variables(),
        "settings": _settings(),
    }


def _compiler(program: str, *host: str) -> Description:
    """Returns a compiler with its parts and the headers that it searches. `host` chooses the host compiler of nvcc."""
    path = shutil.which(program)
    found = compiler(path, host) if path else None
    if found is None:
        raise Refused(f"the compiler {program}")
    return found.version, tuple(map(contents, found.files)), contents_of_all(filter(os.path.isdir, found.includes))


def _refuse_others(request: Request, packages: Packages) -> None:
    import tvm_ffi
    from tilelang.env import env
    from tilelang.instrumentation import current_compile_pass_instrumentation

    context, options = request.context, request.pass_configs or {}
    backend = context.execution_backend.name
    if context.name != "cuda" or backend not in _BACKENDS:
        raise Refused(f"the execution backend {backend} of {context.name}")
    if context.target_host.kind.name != "c":
        raise Refused(f"the host target {context.target_host.kind.name}")
    if tvm_ffi.get_global_func(_COMPILE) != packages.compile:
        raise Refused(f"the program's own {_COMPILE}")
    for name in _REWRITE:
        if tvm_ffi.get_global_func(name, allow_missing=True) is not None:
            raise Refused(f"the program's own {name}")
    for name in _OTHER_RESULTS:
        if options.get(name):
            raise Refused(f"the option {name}")
    for name in ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS"):
        if not all(map(_PLAIN_FLAG.fullmatch, os.environ.get(name, "").split())):
            raise Refused(f"the variable {name}")
    if (env.get_pass_diff_mode() or env.get_lower_trace_mode() or env.is_pass_profile_enabled()
            or not env.should_cleanup_temp_files() or current_compile_pass_instrumentation() is not None):
        raise Refused("records of the compile are wanted")
    code = request.function.script(show_meta=True)
    if _FAR_INCLUDE.search(code):
        raise Refused("a header by its path")
    if uses_time(code.encode()):
        raise Refused("code that uses the time of the compile")


def _flags(request: Request) -> Description:
    """Returns the contents of the directories that flags name. The flags themselves are in TileLang's key."""
    given = [request.compile_flags, (request.pass_configs or {}).get(_FLAGS)]
    texts = [text for flags in given for text in ([flags] if isinstance(flags, str) else flags or ())]
    words = [word for text in texts for word in shlex.split(text)]
    for word in words:
        if not word.startswith("-I/") and not _PLAIN_FLAG.fullmatch(word):
            raise Refused(f"the flag {word}")
    return tuple(contents(word[2:]) for word in words if word.startswith("-I/"))


def _settings() -> Description:
    """Returns the variables of TileLang and TVM, and values that the program has set in their place."""
    from tilelang.env import EnvVar, env

    named = {name: value for name, value in os.environ.items() if name.startswith(("TILELANG_", "TL_", "TVM_"))}
    for setting in vars(type(env)).values():
        if isinstance(setting, EnvVar):
            named[setting.key] = repr(setting.get())
    return tuple(sorted(pair for pair in named.items() if not _UNKEYED.fullmatch(pair[0])))
