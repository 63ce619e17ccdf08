# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""One compile cache for every CUDA program of a node: the client of cccl-cached.

    >>> import cccl_cache
    >>> result = cccl_cache.Client().build("__global__ void f(int* p) { *p = 1; }", arch="sm_90")
    >>> result.cubin
"""

from ._client import Client
from ._errors import CompileError, DeadlineError, Error, NoDaemonError
from ._library import version
from ._programs import Build, Link, Nvvm
from ._result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._asynchronous import AsyncClient

__all__ = ["AsyncClient", "Build", "Client", "CompileError", "DeadlineError", "Error", "Link", "NoDaemonError", "Nvvm",
           "Result"]
__version__: str = version()


def __getattr__(name: str) -> object:
    if name == "AsyncClient":  # whoever does not use it need not import asyncio
        from ._asynchronous import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
