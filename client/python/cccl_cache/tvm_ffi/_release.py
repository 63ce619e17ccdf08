# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of TVM-FFI. A release that has all of it is served, whatever its number."""

from __future__ import annotations

from .._plugin.switch import capable_release, differing

PACKAGE = "apache-tvm-ffi"
_EXTENSION = "tvm_ffi.cpp.extension"
_FUNCTIONS = {(_EXTENSION, "build_ninja"): ["build_dir"]}
_USES = {(_EXTENSION, "_build_impl"): ["build_ninja"]}


def served_release() -> str:
    """Returns the package with its release. Imports TVM-FFI. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    return differing(_FUNCTIONS, _USES)
