# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of CuTe DSL. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import dataclasses

from .._plugin.switch import capable_release, differing, found

PACKAGE = "nvidia-cutlass-dsl"
_BACKEND = "cutlass.base_dsl.compile_backend"
# All inputs of a compile. One that is not known here may have to be part of the key.
_INPUTS = {
    "module", "module_hash", "function_name", "pipeline", "sig", "cache_enabled", "no_jit_engine", "func_type", "full_args",
    "full_kwargs", "dynamic_args", "dynamic_kwargs", "original_function_name", "funcBody",
}
_FUNCTIONS = {
    (_BACKEND, "LegacyCompilerBackend._build_compiled_function"): ["self", "ctx", "compile_gpu_arch", "cache_state"],
    ("cutlass.base_dsl.dsl", "BaseDSL._get_pipeline"): ["self", "pipeline"],
    ("cutlass.base_dsl.dsl", "BaseDSL.preprocess_pipeline"): ["self", "pipeline", "arch"],
    ("cutlass.base_dsl.dsl", "BaseDSL.get_version"): ["self"],
    ("cutlass.base_dsl.env_manager", "EnvironmentVarManager.cache_key_str"): ["self"],
    ("cutlass.base_dsl.compiler", "CompileOptions.to_str"): ["self"],
    ("cutlass.base_dsl.compiler", "PostCompileHookContext.__init__"): ["self", "compiler", "hook"],
}
# The attributes that these set.
_USES = {
    ("cutlass.base_dsl.compiler", "Compiler.__init__"): ["_post_compile_hook"],
    ("cutlass.base_dsl.dsl", "BaseDSL.__init__"): ["compiler_provider"],
    ("cutlass.base_dsl.jit_executor", "JitCompiledFunction.__init__"): ["ir_module"],
}


def served_release() -> str:
    """Returns the package with its release. Imports CuTe DSL. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    if differs := differing(_FUNCTIONS, _USES):
        return differs
    for name, wanted in (("CompileContext", _INPUTS), ("CompileCacheState", {"module", "cache_hit", "load_from_file_cache"})):
        fields = {field.name for field in dataclasses.fields(found(_BACKEND, name))}
        if fields != wanted:
            return f"{name} has other fields: {', '.join(sorted(fields ^ wanted))}"
    return ""
