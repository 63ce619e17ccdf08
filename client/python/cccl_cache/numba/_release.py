# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of numba-cuda, and of the numba below it, with which the plug-in was tested."""

from __future__ import annotations

import importlib

from .._plugin.switch import NotServed, tested_release

TESTED = ("0.30.4",)
TESTED_NUMBA = ("0.68.1",)


def served_release() -> str:
    """Returns the package with its release. Raises NotServed."""
    release = tested_release("numba-cuda", TESTED)
    tested_release("numba", TESTED_NUMBA)
    cuda = importlib.import_module("numba.cuda")
    if "numba_cuda" not in (getattr(cuda, "__file__", None) or ""):
        raise NotServed("numba.cuda is the one inside numba, which numba-cuda's .pth file would replace")
    if importlib.import_module("numba.cuda.core.config").ENABLE_CUDASIM:
        raise NotServed("the CUDA simulator is on")
    return f"numba-cuda {release}"
