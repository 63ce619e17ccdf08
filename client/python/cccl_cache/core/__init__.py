# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles for cuda.core through the node's daemon, and keeps what cuda.core compiles there.

`compile` takes what ``cuda.core.Program`` takes and gives what its ``compile`` gives; `ProgramCache` is a
``cache=`` for the latter. Neither raises where cuda.core alone would not.
"""

from ._cache import ProgramCache
from ._compile import compile

__all__ = ["ProgramCache", "compile"]
