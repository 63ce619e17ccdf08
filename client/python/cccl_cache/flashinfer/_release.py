# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of FlashInfer. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import inspect

from .._plugin.switch import capable_release, differing, found

PACKAGE = "flashinfer-python"
_CORE = "flashinfer.jit.core"
_FUNCTIONS = {(_CORE, "run_ninja"): ["workdir", "ninja_file", "verbose", "max_jobs"]}


def served_release() -> str:
    """Returns the package with its release. Imports FlashInfer. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    if differs := differing(_FUNCTIONS):
        return differs
    build = found(_CORE, "JitSpecNvcc.build")
    if build is None or "run_ninja" not in inspect.unwrap(build).__code__.co_names:
        return f"{_CORE} has no JitSpecNvcc.build with run_ninja"
    return ""
