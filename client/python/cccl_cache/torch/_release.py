# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of torch. A release that has all of it is served, whatever its number."""

from __future__ import annotations

from .._plugin.switch import capable_release, differing, found

PACKAGE = "torch"
COMPILER = "torch._inductor.compile_fx"
CODE = "torch._inductor.codecache"
BUILDER = "torch._inductor.cpp_builder"
AOT_ENTRY = "torch._functorch._aot_autograd.aot_autograd_result"
AOT_CACHE = "torch._functorch._aot_autograd.autograd_cache"
AOT_USERS = ("torch._functorch._aot_autograd.graph_compile", "torch._functorch.aot_autograd")
_FUNCTIONS = {
    (COMPILER, "_compile_fx_inner"): ["gm", "example_inputs", "..."],
    (COMPILER, "should_use_remote_fx_graph_cache"): [],
    (AOT_ENTRY, "should_use_remote_fx_graph_cache"): [],
    (CODE, "FxGraphCache.get_remote_cache"): [],
    (CODE, "_worker_compile_cpp"): ["lock_path", "cpp_builders"],
    (AOT_CACHE, "AOTAutogradCache.get_remote_cache"): [],
    **{(module, "should_use_remote_autograd_cache"): [] for module in AOT_USERS},
    (BUILDER, "CppBuilder.build"): ["self", "..."],
    (BUILDER, "CppBuilder.get_command_line"): ["self", "..."],
    (BUILDER, "CppBuilder.get_target_file_path"): ["self", "..."],
}
# The names that functions must use: they ask where the plug-in expects it for what it replaces.
_USES = {
    (COMPILER, "compile_fx_inner"): ["_compile_fx_inner"],
    (COMPILER, "_compile_fx_inner"): ["should_use_remote_fx_graph_cache", "get_remote_cache", "load_with_key", "_save_graph"],
    (AOT_CACHE, "AOTAutogradCache.try_load"): ["autograd_cache_key"],
    (AOT_CACHE, "AOTAutogradCache._lookup"): ["get_remote_cache", "find_guarded_entry"],
    (AOT_CACHE, "AOTAutogradCache.save"): ["get_remote_cache", "put"],
    (CODE, "GuardedCache.iterate_over_candidates"): ["get", "b64decode", "loads"],
    (CODE, "FxGraphCache._save_graph"): ["put", "b64encode"],
    (CODE, "_precompile_header"): ["_worker_compile_cpp"],
    (BUILDER, "CppBuilder.__init__"): ["_sources_args", "_build_option", "precompiled_header", "_compiler", "_preprocessing",
                                         "_precompiling"],
}
_SETTINGS = {
    "torch._inductor.config": ("fx_graph_remote_cache", "fx_graph_cache", "force_disable_caches"),
    "torch._functorch.config": ("enable_remote_autograd_cache", "enable_autograd_cache"),
}


def served_release() -> str:
    """Returns the package with its release. Imports Inductor. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    for module, settings in _SETTINGS.items():
        for setting in settings:
            found(module, setting)
    return differing(_FUNCTIONS, _USES)
