# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A lease for programs of asyncio."""

from __future__ import annotations

from ._asynchronous_calls import on_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from ._lease import Lease


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
    def fence(self) -> int:
        """As `Lease.fence`."""
        return self._lease.fence

    async def publish(self, contents: bytes, *, timeout: float | None = None) -> None:
        """As `Lease.publish`."""
        await on_thread(lambda: self._lease.publish(contents, timeout=timeout))

    async def abandon(self) -> None:
        """As `Lease.abandon`."""
        await on_thread(self._lease.abandon)
