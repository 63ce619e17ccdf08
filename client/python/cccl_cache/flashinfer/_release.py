# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of FlashInfer. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import inspect

from .._plugin.switch import capable_release

PACKAGE = "flashinfer-python"
_PARAMETERS = ["workdir", "ninja_file", "verbose", "max_jobs"]


def served_release() -> str:
    """Returns the package with its release. Imports FlashInfer. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    from flashinfer.jit import core

    run_ninja = getattr(core, "run_ninja", None)
    if run_ninja is None or list(inspect.signature(run_ninja).parameters) != _PARAMETERS:
        return f"flashinfer.jit.core has no run_ninja({', '.join(_PARAMETERS)})"
    build = getattr(getattr(core, "JitSpecNvcc", None), "build", None)
    if build is None or "run_ninja" not in inspect.unwrap(build).__code__.co_names:
        return "flashinfer.jit.core has no JitSpecNvcc.build with run_ninja"
    return ""
