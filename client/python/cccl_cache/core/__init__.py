# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles for cuda.core through the node's daemon, and keeps cuda.core's results there.

`compile` has the parameters of ``cuda.core.Program`` and returns the same as ``Program.compile``. `ProgramCache` is an
argument ``cache=`` of ``Program.compile``. Neither raises an error that cuda.core alone would not raise.
"""

try:
    import cuda.bindings  # noqa: F401  (cuda.core needs it, and does not say which package holds it)
    import cuda.core  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'cccl_cache.core needs cuda-core with the bindings of a CUDA major ({error}): pip install "cuda-core[cu13]"'
    ) from error

from ._cache import ProgramCache
from ._compile import compile

__all__ = ["ProgramCache", "compile"]
