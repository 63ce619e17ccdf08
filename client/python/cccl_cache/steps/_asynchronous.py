# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Steps for programs of asyncio. The package imports asyncio only with this module."""

from __future__ import annotations

import contextvars
from types import TracebackType
from typing import Any, Awaitable, Callable, Mapping, Optional

from .._asynchronous import _on_own_thread, _on_thread
from .._plugin.leases import LEASE_LIMIT, LeaseClient
from ._steps import Step, Steps


class AsyncStep:
    """`Step` with coroutines. `AsyncSteps.get` returns it. For one task at a time."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __repr__(self) -> str:
        return repr(self._step).replace("Step", "AsyncStep")

    async def __aenter__(self) -> AsyncStep:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await (self.fail() if isinstance(error, Exception) else self.close())

    @property
    def value(self) -> Optional[bytes]:
        """As `Step.value`."""
        return self._step.value

    @property
    def held(self) -> bool:
        """As `Step.held`."""
        return self._step.held

    async def put(self, value: bytes) -> None:
        """As `Step.put`."""
        await _on_thread(lambda: self._step.put(value))

    async def fail(self) -> None:
        """As `Step.fail`."""
        await _on_thread(self._step.fail)

    async def close(self) -> None:
        """As `Step.close`."""
        await _on_thread(self._step.close)


class AsyncSteps:
    """`Steps` with coroutines, with the same parameters. Each wait has a thread of its own.

    A cancelled wait continues until its timeout. A right that it gets after the cancellation is given up.

    Parameters
    ----------
    namespace, group, wait, hold, client
        As of `Steps`.
    """

    def __init__(self, namespace: str, *, group: Optional[str] = None, wait: float = LEASE_LIMIT, hold: float = LEASE_LIMIT,
                 client: Optional[Callable[[], LeaseClient]] = None) -> None:
        self._steps = Steps(namespace, group=group, wait=wait, hold=hold, client=client)

    def __repr__(self) -> str:
        return repr(self._steps).replace("Steps ", "AsyncSteps ")

    async def make(self, fields: Mapping[str, Any], build: Callable[[], Awaitable[bytes]]) -> bytes:
        """As `Steps.make`. `build` is a coroutine function."""
        async with await self.get(fields) as step:
            if step.value is None:
                await step.put(await build())
            assert step.value is not None
            return step.value

    async def get(self, fields: Mapping[str, Any], *, replace: bool = False) -> AsyncStep:
        """As `Steps.get`: ``async with await steps.get(fields) as step``."""
        while True:
            step = self._steps._enter(fields, replace)  # in this task's context, which tells nested steps from others
            try:
                if await _on_own_thread(step._open):
                    return AsyncStep(step)
            except BaseException:
                step.close()
                raise

    async def wait(self, fields: Mapping[str, Any]) -> Optional[bytes]:
        """As `Steps.wait`."""
        context = contextvars.copy_context()
        return await _on_own_thread(lambda: context.run(self._steps.wait, fields))
