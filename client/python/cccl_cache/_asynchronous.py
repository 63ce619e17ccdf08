# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client for programs of asyncio, which is imported with this module and not before."""

from __future__ import annotations

import asyncio
import os
import weakref

from ._batch import Batch
from ._client import Client
from ._errors import Error
from ._programs import Build, Link, Nvvm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from typing import Any, TypeVar

    from ._client import Program
    from ._records import Explanation, Health, Statistic, Toolchains
    from ._result import Result

    Answer = TypeVar("Answer")


class _Builds:
    """The builds of one event loop, over one batch: the loop watches its descriptor while there are any."""

    def __init__(self, client: Client) -> None:
        self._batch = Batch(client)
        self._waiting: dict[int, asyncio.Future[Result]] = {}
        self._last = 0

    async def run(self, program: Program) -> Result:
        loop = asyncio.get_running_loop()
        self._last = number = self._last + 1
        self._batch.add(program, number)
        if not self._waiting:
            loop.add_reader(self._batch.fileno(), self._go_on)
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting[number] = future
        try:
            return await future
        finally:
            if self._waiting.pop(number, None):
                self._batch.cancel(number)
            if not self._waiting:
                loop.remove_reader(self._batch.fileno())

    def _go_on(self) -> None:
        while finished := self._batch.next():
            number, end = finished
            future = self._waiting.get(number)
            if future is None or future.done():
                continue
            del self._waiting[number]
            if isinstance(end, Error):
                future.set_exception(end)
            else:
                future.set_result(end)


class AsyncClient:
    """`Client` with coroutines. Builds need no thread: all of one event loop go over one connection, which the loop
    watches. The other calls wait on a thread of the loop's default executor.

    A build that is cancelled is compiled no further, unless somebody else waits for it.

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
        self._builds: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Builds] = weakref.WeakKeyDictionary()

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
        loop = asyncio.get_running_loop()
        if loop not in self._builds:
            self._builds[loop] = _Builds(self._client)
        return await self._builds[loop].run(program)

    async def build_many(self, programs: Iterable[Program]) -> AsyncIterator[tuple[int, Result | Error]]:
        """As `Client.build_many`, for ``async for``."""

        async def end_of(number: int, program: Program) -> tuple[int, Result | Error]:
            try:
                return number, await self.run(program)
            except Error as error:
                return number, error

        runs = [asyncio.ensure_future(end_of(number, program)) for number, program in enumerate(programs)]
        try:
            for done in asyncio.as_completed(runs):
                yield await done
        finally:
            for run in runs:
                run.cancel()

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
