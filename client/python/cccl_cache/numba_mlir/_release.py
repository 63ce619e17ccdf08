# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of numba-cuda-mlir with which the plug-in was tested."""

from __future__ import annotations

from .._plugin.switch import tested_release

TESTED = ("0.5.4",)


def served_release() -> str:
    """Returns the package with its release. Raises NotServed."""
    return f"numba-cuda-mlir {tested_release('numba-cuda-mlir', TESTED)}"
