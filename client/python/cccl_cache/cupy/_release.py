# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of CuPy with which the plug-in was tested."""

from __future__ import annotations

import importlib
from importlib import metadata

from .._plugin.switch import NotServed, tested_release

TESTED = ("14.2.0",)
_TESTED_PACKAGE = "cupy-cuda13x"
_OTHER_PACKAGES = ("cupy-cuda12x", "cupy")


def served_release() -> str:
    """Returns the package with its release. Raises NotServed."""
    release = tested_release(_TESTED_PACKAGE, TESTED)
    for other in _OTHER_PACKAGES:
        try:
            metadata.version(other)
        except metadata.PackageNotFoundError:
            continue
        raise NotServed(f"{other} is installed over {_TESTED_PACKAGE}")
    if importlib.import_module("cupy.cuda.compiler").runtime.is_hip:
        raise NotServed("CuPy runs on HIP")
    return f"{_TESTED_PACKAGE} {release}"
