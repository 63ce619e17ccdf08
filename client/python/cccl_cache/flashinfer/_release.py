# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of FlashInfer. A release that has all of it is served, whatever its number."""

from __future__ import annotations

from .._plugin.switch import capable_release, differing

PACKAGE = "flashinfer-python"
_CORE = "flashinfer.jit.core"
_FUNCTIONS = {(_CORE, "run_ninja"): ["workdir", "ninja_file", "verbose", "max_jobs"]}
_USES = {(_CORE, "JitSpecNvcc.build"): ["run_ninja"]}


def served_release() -> str:
    """Returns the package with its release. Imports FlashInfer. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    return differing(_FUNCTIONS, _USES)
