# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of TVM-FFI. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import inspect

from .._plugin.switch import capable_release

PACKAGE = "apache-tvm-ffi"


def served_release() -> str:
    """Returns the package with its release. Imports TVM-FFI. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    from tvm_ffi.cpp import extension

    build_ninja = getattr(extension, "build_ninja", None)
    if build_ninja is None or list(inspect.signature(build_ninja).parameters) != ["build_dir"]:
        return "tvm_ffi.cpp.extension has no build_ninja(build_dir)"
    build = getattr(extension, "_build_impl", None)
    if build is None or "build_ninja" not in inspect.unwrap(build).__code__.co_names:
        return "tvm_ffi.cpp.extension has no _build_impl with build_ninja"
    return ""
