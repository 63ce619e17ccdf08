# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of Warp. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import inspect

from .._plugin.switch import capable_release

PACKAGE = "warp-lang"
_NEEDED = {
    "cu_path", "arch", "output_path", "pch_dir", "config", "optimization_level", "verify_fp", "fast_math", "fuse_fp",
    "lineinfo", "compile_time_trace", "ltoirs", "fatbins", "arch_suffix", "llvm_cuda", "use_precompiled_headers",
}
_KNOWN = _NEEDED | {"extra_include_dirs"}
# All that build_cuda reads besides its arguments. Another name may be an input that has to be part of the key.
_READ = {
    "Exception", "LOG_DEBUG", "_get_extra_include_dir_bytes", "_src", "basename", "c_char_p", "c_int", "c_size_t", "config",
    "context", "core", "ctypes", "encode", "join", "len", "list", "llvm", "log_level", "nvJitLink_input_type", "open", "os",
    "path", "read", "runtime", "verbose", "warp", "warp_home", "wp_compile_cuda", "wp_cuda_compile_program",
}


def served_release() -> str:
    """Returns the package with its release. Imports Warp. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    from warp._src import build, context

    compile = inspect.unwrap(build.build_cuda)
    parameters = set(inspect.signature(compile).parameters)
    for differs, names in (("has no", _NEEDED - parameters), ("has other arguments:", parameters - _KNOWN),
                           ("reads other names:", set(compile.__code__.co_names) - _READ)):
        if names:
            return f"build_cuda {differs} {', '.join(sorted(names))}"
    if not hasattr(context, "runtime"):
        return "warp._src.context has no runtime"
    return "" if isinstance(build.warp_home, str) else "warp_home is no path"
