# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a compile of CuTe DSL: all that decides the compiled module.

CuTe DSL's own hash covers the bytecode of the traced module, which has the path and the lines of the source. Without line
information they do not reach the compiled module, so the key has the text of the module without them.
"""

from __future__ import annotations

import functools
from typing import Any

from .._plugin.canonical import Refused
from .._plugin.loaded import contents, loaded_copies

# Options that only change the compiled module. Any other option must have its default, because it may write a file or
# print what a hit would not print.
_KEYED = {
    "DeviceTarget", "DisableCuteExtCompile", "EnableAssertions", "EnablePYIR", "EnableTVMFFI", "FrontendNext",
    "GenerateLineInfo", "GPUArch", "HostTarget", "OptLevel", "PtxasOptions", "RDC",
}
_OF_DUMPS = {"DumpDir", "NvdisasmOptions"}  # have no effect unless another option dumps something


def fields_of(backend: Any, ctx: Any, arch: str) -> dict[str, Any]:
    """Returns the fields. Raises Refused if a result outside the compiled module is wanted, or an input can't be
    described. Must be called before the compile, which changes the module."""
    from cutlass.base_dsl.compile_backend import LegacyCompilerBackend
    from cutlass.base_dsl.dsl import BaseDSL

    dsl = backend._dsl
    if type(backend) is not LegacyCompilerBackend:
        raise Refused(f"the compiler backend {backend.name}")
    if type(dsl).get_version is BaseDSL.get_version:
        raise Refused(f"{dsl.name} has no version")
    if dsl.envar.keep_tokens:
        raise Refused("files of the compile are kept")
    options = _options(dsl.compile_options)
    with_lines = dsl.envar.lineinfo or dsl.envar.loc_tracebacks or options.get("GenerateLineInfo", "True") != "False"
    return {
        "dsl": dsl.name,
        "version": dsl.get_version().hexdigest(),
        "library": _library(),
        "arch": arch,
        "function": ctx.function_name,
        "module": ctx.module.operation.get_asm(enable_debug_info=bool(with_lines), print_generic_op_form=True),
        "pipeline": dsl.preprocess_pipeline(dsl._get_pipeline(ctx.pipeline), arch),
        "options": tuple(sorted(options.items())),
        "settings": _settings(dsl.envar),
        "engine": not ctx.no_jit_engine,
    }


@functools.lru_cache(maxsize=1)
def _library() -> str:
    """Returns the digest of the loaded library, which has the compilers in it. CuTe DSL's version has the digest that its
    wheel was made with."""
    return contents(loaded_copies("_cutlass_ir.")[0])


def _options(options: Any) -> dict[str, str]:
    """Returns the options that decide the module, by their classes' names."""
    options.to_str()  # sets options that follow from others
    keyed = {}
    for kind, option in options.options.items():
        name = kind.__name__
        if name in _KEYED:
            keyed[name] = repr(option.value)
        elif name not in _OF_DUMPS and option.value != kind(kind._default).value:
            raise Refused(f"the option {name}")
    return keyed


def _settings(settings: Any) -> str:
    """Returns CuTe DSL's variables, without the path of the library with which the compiled module is loaded."""
    text = str(settings.cache_key_str())
    return text.replace(repr(settings.shared_libs), "") if settings.shared_libs else text
