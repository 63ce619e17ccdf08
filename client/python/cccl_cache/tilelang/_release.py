# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of TileLang. A release that has all of it is served, whatever its number."""

from __future__ import annotations

from .._plugin.switch import capable_release, differing, found

PACKAGE = "tilelang"
_CACHE = "tilelang.cache.kernel_cache"
_FUNCTIONS = {
    (_CACHE, "KernelCache.cached"): [
        "self", "func", "out_idx", "args", "target", "target_host", "execution_backend", "verbose", "pass_configs",
        "compile_flags", "backend_context"],
    (_CACHE, "KernelCache._load_kernel_from_disk"): [
        "self", "key", "backend_context", "out_idx", "pass_configs", "compile_flags", "func", "verbose"],
    (_CACHE, "KernelCache._get_cache_path"): ["self", "key"],
    (_CACHE, "KernelCache._get_staging_root"): [],
    (_CACHE, "KernelCache._create_dirs"): [],
    (_CACHE, "KernelCache._write_manifest"): ["self", "cache_path"],
    (_CACHE, "KernelCache._remove_incomplete_cache_dir"): ["self", "cache_path"],
    ("tilelang.cache.cuda_binary_cache", "CUDABinaryCache.load"): ["key", "compile_format"],
    ("tilelang.cache.cuda_binary_cache", "CUDABinaryCache.save"): ["key", "compile_format", "data"],
    ("tilelang.contrib.nvcc", "get_nvcc_compiler"): [],
    ("tilelang.contrib.cc", "get_cplus_compiler"): [],
    ("tvm.contrib.cc", "get_cc"): [],
    ("tvm.libinfo", "find_include_path"): ["name", "search_path", "optional"],
    ("tilelang.instrumentation", "current_compile_pass_instrumentation"): [],
    ("tilelang.env", "Environment.get_pass_diff_mode"): ["self"],
    ("tilelang.env", "Environment.get_lower_trace_mode"): ["self"],
    ("tilelang.env", "Environment.is_pass_profile_enabled"): ["self"],
    ("tilelang.env", "Environment.should_cleanup_temp_files"): ["self"],
    ("tilelang.env", "EnvVar.get"): ["self"],
}
# The plug-in relies on the order of a look-up, a compile and a save.
_USES = {
    (_CACHE, "KernelCache.cached"): ["_generate_key", "_load_kernel_from_disk", "JITKernel", "_save_kernel_to_disk"],
    (_CACHE, "KernelCache._save_kernel_to_disk"): ["_write_manifest"],
    ("tilelang.cuda.backend", "tilelang_callback_cuda_compile"): ["CUDABinaryCache", "load", "compile_cuda", "save"],
}


def served_release() -> str:
    """Returns the package with its release. Imports TileLang. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    for name in ("CUTLASS_INCLUDE_DIR", "TILELANG_TEMPLATE_PATH", "TL_LIBS"):
        if not found("tilelang.env", name):
            return f"tilelang.env has no {name}"
    return differing(_FUNCTIONS, _USES)
