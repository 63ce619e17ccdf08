# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of TVM-FFI. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import inspect

from .._plugin.switch import capable_release, differing, found

PACKAGE = "apache-tvm-ffi"
_EXTENSION = "tvm_ffi.cpp.extension"
_FUNCTIONS = {(_EXTENSION, "build_ninja"): ["build_dir"]}


def served_release() -> str:
    """Returns the package with its release. Imports TVM-FFI. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    if differs := differing(_FUNCTIONS):
        return differs
    build = found(_EXTENSION, "_build_impl")
    if build is None or "build_ninja" not in inspect.unwrap(build).__code__.co_names:
        return f"{_EXTENSION} has no _build_impl with build_ninja"
    return ""
