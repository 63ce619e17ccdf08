# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that wait, made by coroutines: on a thread, so that the event loop goes on."""

from __future__ import annotations

import asyncio
import functools
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, TypeVar

    from typing_extensions import Concatenate, ParamSpec

    from ._client import Client

    Answer = TypeVar("Answer")
    Given = ParamSpec("Given")


async def on_thread(call: Callable[[], Answer]) -> Answer:
    """What the call gives, from a thread of the loop's default executor; for calls that nobody else holds up."""
    return await asyncio.get_running_loop().run_in_executor(None, call)


async def on_own_thread(call: Callable[[], Answer]) -> Answer:
    """What the call gives, from a thread of its own; for calls that wait for others.

    Those of the executor are few: all could wait for one whose own call then finds no thread. The program does not wait
    for it at its end.
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


def calling(
    method: Callable[Concatenate[Client, Given], Answer]
) -> Callable[Concatenate[Any, Given], Coroutine[Any, Any, Answer]]:
    """The same call of a client that has a `Client` in `_client`, as a coroutine."""

    async def call(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        return await on_thread(lambda: method(self._client, *given, **named))

    functools.update_wrapper(call, method, ("__name__", "__doc__"))
    return call
