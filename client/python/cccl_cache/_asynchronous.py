# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client for programs of asyncio, which is imported with this module and not before."""

from __future__ import annotations

import asyncio
import functools
import os
import weakref

from ._asynchronous_calls import calling, on_own_thread
from ._asynchronous_lease import AsyncLease
from ._batch import Batch
from ._client import Client
from ._errors import Error
from ._programs import Build, Link, Nvvm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
    from typing import Any

    from typing_extensions import Concatenate, ParamSpec

    from ._client import Program
    from ._result import Result

    Given = ParamSpec("Given")


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


def _building(
    method: Callable[..., Result], kind: Callable[Given, Program]
) -> Callable[Concatenate[AsyncClient, Given], Coroutine[Any, Any, Result]]:
    """The same call as this one of `Client`, which runs a program of this kind."""

    async def build(self: AsyncClient, /, *given: Given.args, **named: Given.kwargs) -> Result:
        return await self.run(kind(*given, **named))

    functools.update_wrapper(build, method, ("__name__", "__doc__"))
    return build


class AsyncClient:
    """`Client` with coroutines, with the same parameters. Builds need no thread: all of one event loop go over one
    connection, which the loop watches. A wait for a lease has a thread of its own, the other calls one of the loop's
    default executor.

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

    build = _building(Client.build, Build)
    link = _building(Client.link, Link)
    nvvm = _building(Client.nvvm, Nvvm)

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

    async def lease(self, namespace: str, fields: Mapping[str, bytes | str | int], *, group: str | None = None,
                    timeout: float | None = None) -> AsyncLease:
        """As `Client.lease`: ``async with await client.lease(...) as lease``.

        A wait that is cancelled goes on until its timeout; a lease that it is given then is given up.
        """
        return AsyncLease(await on_own_thread(
            lambda: self._client.lease(namespace, fields, group=group, timeout=timeout)))

    deposits = calling(Client.deposits)
    remove_deposit = calling(Client.remove_deposit)
    snapshot = calling(Client.snapshot)
    delta = calling(Client.delta)
    insert = calling(Client.insert)
    explain = calling(Client.explain)
    health = calling(Client.health)
    stats = calling(Client.stats)
    toolchains = calling(Client.toolchains)
