# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client for programs of asyncio, which is imported with this module and not before."""

from __future__ import annotations

import asyncio
import os

from ._client import Client
from ._programs import Build, Link, Nvvm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ._client import Program
    from ._records import Explanation, Health, Statistic, Toolchains
    from ._result import Result

    Answer = TypeVar("Answer")


class AsyncClient:
    """`Client` with coroutines: each call waits on a thread of the event loop's default executor.

    A call that is cancelled is not waited for any more; what it asked for goes on and will be a hit.

    Parameters
    ----------
    socket, how
        As of `Client`.

    Examples
    --------
    >>> client = AsyncClient()
    >>> one, two = await asyncio.gather(client.build(a, arch="sm_90"), client.build(b, arch="sm_90"))
    """

    def __init__(self, socket: str | os.PathLike[str] | None = None, **how: Any) -> None:
        self._client = Client(socket, **how)

    @property
    def socket(self) -> str:
        """Path of the socket that was chosen."""
        return self._client.socket

    async def build(self, *arguments: Any, **how: Any) -> Result:
        """As `Client.build`."""
        return await self.run(Build(*arguments, **how))

    async def link(self, *arguments: Any, **how: Any) -> Result:
        """As `Client.link`."""
        return await self.run(Link(*arguments, **how))

    async def nvvm(self, *arguments: Any, **how: Any) -> Result:
        """As `Client.nvvm`."""
        return await self.run(Nvvm(*arguments, **how))

    async def run(self, program: Program) -> Result:
        """As `Client.run`."""
        return await _on_thread(lambda: self._client.run(program))

    async def explain(self, what: Program | str, *, timeout: float | None = None) -> Explanation:
        """As `Client.explain`."""
        return await _on_thread(lambda: self._client.explain(what, timeout=timeout))

    async def health(self, *, timeout: float | None = None) -> Health:
        """As `Client.health`."""
        return await _on_thread(lambda: self._client.health(timeout=timeout))

    async def stats(self, *, timeout: float | None = None) -> tuple[Statistic, ...]:
        """As `Client.stats`."""
        return await _on_thread(lambda: self._client.stats(timeout=timeout))

    async def toolchains(self, *, timeout: float | None = None) -> Toolchains:
        """As `Client.toolchains`."""
        return await _on_thread(lambda: self._client.toolchains(timeout=timeout))


async def _on_thread(call: Callable[[], Answer]) -> Answer:
    return await asyncio.get_running_loop().run_in_executor(None, call)
