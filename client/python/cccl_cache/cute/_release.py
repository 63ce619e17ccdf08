# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of CuTe DSL. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from importlib import metadata
from typing import Any

from .._plugin.switch import NotServed

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


def served_release() -> str:
    """Returns the package with its release. Raises NotServed."""
    try:
        release = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise NotServed(f"{PACKAGE} is not installed") from None
    try:
        differs = _difference()
    except Exception as error:  # a foreign package may raise any error
        differs = f"{type(error).__name__}: {error}"
    if differs:
        raise NotServed(f"{PACKAGE} {release} differs from what is served: {differs}")
    return f"{PACKAGE} {release}"


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    for (module, name), parameters in _FUNCTIONS.items():
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None or list(inspect.signature(found).parameters) != parameters:
            return f"{module} has no {name}({', '.join(parameters)})"
    backend = importlib.import_module(_BACKEND)
    for name, wanted in (("CompileContext", _INPUTS), ("CompileCacheState", {"module", "cache_hit", "load_from_file_cache"})):
        fields = {field.name for field in dataclasses.fields(getattr(backend, name))}
        if fields != wanted:
            return f"{name} has other fields: {', '.join(sorted(fields ^ wanted))}"
    return ""
