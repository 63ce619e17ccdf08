# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio has each call of `Client`. Builds have the same tests as those of `Client`."""

import asyncio
import inspect
import os

import cccl_cache
import pytest
from patience import PATIENCE

SPACE = "org.example.test"
KERNEL = 'extern "C" __global__ void f(int* p) { *p = 1; }\n'


def calls(kind):
    return {name for name, each in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_the_asynchronous_client_has_every_call_of_the_client():
    assert calls(cccl_cache.AsyncClient) == calls(cccl_cache.Client)


@pytest.mark.parametrize("more", (True, False), ids=("another build begins", "none begins"))
def test_builds_end_though_the_program_took_the_number_of_their_descriptor(fake, more):
    async def main():
        client = cccl_cache.AsyncClient(fake.socket)
        first = asyncio.ensure_future(client.build(KERNEL, arch="sm_90"))
        await asyncio.sleep(0)
        [builds] = client._builds.values()
        with open(os.devnull, "rb") as null:
            taken = builds._watched
            os.dup2(null.fileno(), taken)
        try:
            if more:
                assert (await asyncio.wait_for(client.build(KERNEL, arch="sm_80"), PATIENCE)).cubin
            assert (await asyncio.wait_for(first, PATIENCE)).cubin
        finally:
            os.close(taken)

    asyncio.run(main())


def test_more_callers_than_threads_of_the_loop_wait_for_a_lease_and_get_the_publication(fake):
    """The loop's default executor has at most 32 threads. One of the callers publishes."""

    async def ask(client):
        async with await client.lease(SPACE, {"a": 1}, timeout=PATIENCE) as lease:
            if lease.contents is None:
                assert lease.held and lease.fence > 0
                await waiting(client, 39)
                await lease.publish(b"made")
                return lease.key
            assert lease.contents == b"made"
            return lease.key

    async def waiting(client, count):
        while {each.name: each.value for each in await client.stats()}["lease_waiters"] < count:
            pass

    async def main():
        client = cccl_cache.AsyncClient(fake.socket)
        keys = await asyncio.gather(*(ask(client) for _ in range(40)))
        [deposit] = await client.deposits()
        assert set(keys) == {deposit.key}
        assert await client.remove_deposit(deposit.key)
        assert not await client.remove_deposit(deposit.key)

    asyncio.run(main())


def test_a_block_that_ends_without_publishing_gives_the_lease_up(fake):
    async def main():
        client = cccl_cache.AsyncClient(fake.socket)
        with pytest.raises(RuntimeError):
            async with await client.lease(SPACE, {"a": 1}):
                raise RuntimeError("it can't be made")
        async with await client.lease(SPACE, {"a": 1}, timeout=PATIENCE) as other:
            assert other.contents is None
        with pytest.raises(cccl_cache.Error) as raised:
            await other.publish(b"too late")
        assert raised.value.status == "lease-lost"

    asyncio.run(main())


def test_a_wait_for_a_lease_ends_at_its_timeout(fake):
    async def main():
        client = cccl_cache.AsyncClient(fake.socket)
        async with await client.lease(SPACE, {"a": 1}):
            with pytest.raises(cccl_cache.DeadlineError):
                await client.lease(SPACE, {"a": 1}, timeout=0.05)

    asyncio.run(main())


def test_snapshots_are_written_and_inserted(real, directory):
    async def main():
        client = cccl_cache.AsyncClient(real.socket)
        await client.build(KERNEL, arch="sm_90")
        first = await client.snapshot(directory / "first.snap", arch="sm_90")
        await client.build(KERNEL, arch="sm_80")
        more = await client.delta(directory / "more.snap", directory / "first.snap")
        kept = await client.insert(directory / "more.snap")
        assert (first.records, more.records, kept.records + kept.left_out) == (1, 1, 1)

    asyncio.run(main())
