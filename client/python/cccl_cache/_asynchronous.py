# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client for programs of asyncio. The package imports asyncio only with this module."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import weakref

from ._batch import Batch
from ._client import Client
from ._errors import Error
from ._programs import Build, Link, Nvvm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Concatenate, ParamSpec

    from ._lease import Lease
    from ._programs import Program
    from ._result import Result

    Answer = TypeVar("Answer")
    Given = ParamSpec("Given")


async def _on_thread(call: Callable[[], Answer]) -> Answer:
    """Runs a call on a thread of the loop's default executor. The call must not wait for another caller."""
    return await asyncio.get_running_loop().run_in_executor(None, call)


async def _on_own_thread(call: Callable[[], Answer]) -> Answer:
    """Runs a call on a thread of its own. The call may wait for another caller.

    The default executor has few threads. If all of them waited for one caller, that caller's next call would find no
    free thread. The thread is a daemon thread, so the program does not wait for it at its end.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def settle(set_end: Callable[[Any], None], end: Any) -> None:
        if not future.done():
            set_end(end)

    def run() -> None:
        try:
            ended: tuple[Callable[[Any], None], Any] = future.set_result, call()
        except Exception as error:
            ended = future.set_exception, error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *ended)

    threading.Thread(target=run, daemon=True).start()
    return await future


def _calling(
    method: Callable[Concatenate[Client, Given], Answer]
) -> Callable[Concatenate[Any, Given], Coroutine[Any, Any, Answer]]:
    """Returns a coroutine that makes the same call of the `Client` in `_client`."""

    async def call(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        return await _on_thread(lambda: method(self._client, *given, **named))

    functools.update_wrapper(call, method, ("__name__", "__doc__"))
    return call


class AsyncLease:
    """`Lease` with coroutines. Made by `AsyncClient.lease`; used by one task at a time."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    async def __aenter__(self) -> AsyncLease:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.abandon()

    @property
    def contents(self) -> bytes | None:
        """As `Lease.contents`."""
        return self._lease.contents

    @property
    def key(self) -> str:
        """As `Lease.key`."""
        return self._lease.key

    @property
    def held(self) -> bool:
        """As `Lease.held`."""
        return self._lease.held

    @property
    def released(self) -> bool:
        """As `Lease.released`."""
        return self._lease.released

    @property
    def fence(self) -> int:
        """As `Lease.fence`."""
        return self._lease.fence

    async def publish(self, contents: bytes, *, timeout: float | None = None) -> None:
        """As `Lease.publish`."""
        await _on_thread(lambda: self._lease.publish(contents, timeout=timeout))

    async def abandon(self) -> None:
        """As `Lease.abandon`."""
        await _on_thread(self._lease.abandon)

    async def fail(self) -> None:
        """As `Lease.fail`."""
        await _on_thread(self._lease.fail)


class _Builds:
    """The builds of one event loop. They share one batch, whose descriptor the loop watches while builds are pending.

    The library replaces the descriptor if the program closed it or reused its number. The loop is not told of that, so
    a timer compares the descriptors now and then.
    """

    _PAUSE = 1.0

    def __init__(self, client: Client) -> None:
        self._batch = Batch(client._handle, client._owner)
        self._waiting: dict[int, asyncio.Future[Result]] = {}
        self._last = 0
        self._watched = -1
        self._later: asyncio.TimerHandle | None = None

    async def run(self, program: Program) -> Result:
        loop = asyncio.get_running_loop()
        self._last = number = self._last + 1
        self._batch.add(program, number)
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting[number] = future
        try:
            if self._watched < 0 or self._watched != self._batch.fileno():
                self._watch(loop)
            if self._later is None:
                self._later = loop.call_later(self._PAUSE, self._look, loop)
            return await future
        finally:
            if self._waiting.pop(number, None):
                self._batch.cancel(number)
            if not self._waiting:
                self._watch(loop)
                if self._later is not None:
                    self._later.cancel()
                    self._later = None

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._watched >= 0:
            loop.remove_reader(self._watched)
        self._watched = self._batch.fileno() if self._waiting else -1
        if self._watched >= 0:
            loop.add_reader(self._watched, self._go_on)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._later = loop.call_later(self._PAUSE, self._look, loop)
        self._go_on()
        self._watch(loop)

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
    """Returns a coroutine with the parameters of this method of `Client`. It runs a program of this kind."""

    async def build(self: AsyncClient, /, *given: Given.args, **named: Given.kwargs) -> Result:
        return await self.run(kind(*given, **named))

    functools.update_wrapper(build, method, ("__name__", "__doc__"))
    return build


class AsyncClient:
    """`Client` with coroutines, with the same parameters.

    Builds need no thread: all builds of one event loop use one connection, which the loop watches. A wait for a lease
    runs on a thread of its own. All other calls run on threads of the loop's default executor.

    The compile of a cancelled build ends, unless another caller waits for the same build.

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

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._client).replace("Client", "AsyncClient")

    @property
    def socket(self) -> str:
        """Path of the socket that was chosen."""
        return self._client.socket

    async def close(self) -> None:
        """As `Client.close`."""
        self._builds.clear()
        self._client.close()

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
                    timeout: float | None = None, replace: bool = False, wait_only: bool = False,
                    released_at_limit: bool = False) -> AsyncLease:
        """As `Client.lease`: ``async with await client.lease(...) as lease``.

        A cancelled wait continues until its timeout. A lease that it gets after the cancellation is given up.
        """
        return AsyncLease(await _on_own_thread(
            lambda: self._client.lease(namespace, fields, group=group, timeout=timeout, replace=replace, wait_only=wait_only,
                                       released_at_limit=released_at_limit)))

    deposits = _calling(Client.deposits)
    touch_deposits = _calling(Client.touch_deposits)
    remove_deposit = _calling(Client.remove_deposit)
    snapshot = _calling(Client.snapshot)
    delta = _calling(Client.delta)
    insert = _calling(Client.insert)
    explain = _calling(Client.explain)
    health = _calling(Client.health)
    stats = _calling(Client.stats)
    toolchains = _calling(Client.toolchains)
