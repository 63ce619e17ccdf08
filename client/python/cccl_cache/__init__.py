# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""One compile cache for every CUDA program of a node: the client of cccl-cached.

    >>> import cccl_cache
    >>> result = cccl_cache.Client().build("__global__ void f(int* p) { *p = 1; }", arch="sm_90")
    >>> result.cubin
"""

from ._client import Client
from ._errors import CompileError, DeadlineError, Error, NoDaemonError, NotCachedError
from ._library import version
from ._programs import Build, Link, Nvvm
from ._result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._asynchronous import AsyncClient
    from ._lease import Lease
    from ._records import (Component, Deposit, Difference, Explanation, Health, RejectedToolchain, Statistic, Statistics,
                           Timing, Toolchain, ToolchainName, Toolchains)
    from ._snapshots.recording import Recording, record
    from ._snapshots.files import SnapshotSummary
    from ._snapshots.warm import warm

__all__ = ["AsyncClient", "Build", "Client", "CompileError", "Component", "DeadlineError", "Deposit", "Difference", "Error",
           "Explanation", "Health", "Lease", "Link", "NoDaemonError", "NotCachedError", "Nvvm", "Recording", "RejectedToolchain",
           "Result", "SnapshotSummary", "Statistic", "Statistics", "Timing", "Toolchain", "ToolchainName", "Toolchains",
           "record", "warm"]
__version__: str = version()

# Imported at their first use: a program that only builds needs neither asyncio nor the types of other answers.
_LATER = {"AsyncClient": "_asynchronous", "Lease": "_lease", "Recording": "_snapshots.recording",
          "SnapshotSummary": "_snapshots.files", "record": "_snapshots.recording", "warm": "_snapshots.warm"}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module("." + _LATER.get(name, "_records"), __name__), name)
