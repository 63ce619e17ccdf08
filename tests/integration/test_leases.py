# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Leases and deposits. One process makes a deposit while the others wait. Whichever process ends, no other hangs or
gets wrong contents."""

import asyncio
import json

import grpc
import pytest
from cccl_cache.v1 import deposit_pb2, deposit_pb2_grpc, info_pb2, info_pb2_grpc
from conftest import PATIENCE, wait_for
from lease_client import LeaseClient, deposit, listed, wait_for_waiters
from test_persistence import database_files

CHARGE = 16 << 10  # a smaller deposit counts as this size


@pytest.fixture
def daemon(make_daemon):
    return make_daemon().start()


@pytest.fixture
def strict(make_daemon):
    """A daemon that revokes the lease of a holder that is silent for 3 s, which is longer than a busy machine delays
    a process."""
    return make_daemon("--lease-heartbeat", "1s").start()


def test_one_client_makes_the_deposit_and_all_others_get_it(daemon):
    holder = LeaseClient(daemon)
    assert holder.hear().startswith("lease ")
    waiting = [LeaseClient(daemon) for _ in range(3)]
    dies = LeaseClient(daemon)
    wait_for_waiters(daemon, 4)
    dies.kill()
    wait_for_waiters(daemon, 3)
    assert holder.ask("publish what was made") == "published"
    assert [client.hear() for client in waiting] == ["hit what was made"] * 3
    assert LeaseClient(daemon).hear() == "hit what was made"
    stats = daemon.stats()
    assert (stats["leases_total"], stats["deposits_total"]) == (1, 1)
    assert (stats["deposit_waits_total"], stats["deposit_hits_total"]) == (3, 1)


def test_large_deposits_arrive_complete(daemon):
    holder = LeaseClient(daemon)
    holder.hear()
    assert holder.ask("publish-bytes 20000000") == "published"
    assert LeaseClient(daemon).hear() == "hit " + "x" * 20_000_000


def test_an_abandoned_lease_goes_to_the_next_waiter(daemon):
    holder = LeaseClient(daemon)
    first = int(holder.hear().split()[1])
    waits = LeaseClient(daemon)
    wait_for_waiters(daemon, 1)
    assert holder.ask("abandon") == "abandoned"
    word, fence, _ = waits.hear().split()
    assert word == "lease" and int(fence) > first
    assert holder.ask("held") == "not held"
    assert holder.ask("publish late").startswith("error lease-lost")


def test_a_holder_that_fails_releases_all_waiters_at_once(daemon):
    holder = LeaseClient(daemon)
    key = holder.hear().split()[2]
    waiting = [LeaseClient(daemon) for _ in range(3)]
    wait_for_waiters(daemon, 3)
    assert holder.ask("fail") == "failed"
    assert [client.hear() for client in waiting] == [f"released {key}"] * 3
    assert waiting[0].ask("publish what it made").startswith("error lease-lost")
    assert holder.ask("held") == "not held"
    assert LeaseClient(daemon).hear().startswith("lease ")  # nothing is remembered
    assert daemon.stats()["leases_failed_total"] == 1


def test_a_stock_client_that_knows_no_releases_gets_the_lease_of_a_failed_holder(daemon):
    holder = LeaseClient(daemon)
    holder.hear()
    with grpc.insecure_channel(f"unix:{daemon.socket}") as channel:
        call = deposit_pb2_grpc.DepositStub(channel).Acquire(iter([key_of(b"v")]))
        wait_for_waiters(daemon, 1)
        holder.ask("fail")
        assert next(call).HasField("lease")


def test_the_lease_of_a_killed_holder_goes_to_a_waiter(daemon):
    holder = LeaseClient(daemon)
    assert holder.hear().startswith("lease ")
    waits = LeaseClient(daemon)
    wait_for_waiters(daemon, 1)
    holder.kill()
    assert waits.hear().startswith("lease ")
    assert waits.ask("publish from the second") == "published"
    assert LeaseClient(daemon).hear() == "hit from the second"


@pytest.mark.parametrize("end, code, reason", (("kill", None, "nothing was deposited; acquire it again"),
                                               ("stop", 0, "cccl-cached is stopping, and with it every lease")))
def test_a_publication_after_the_daemon_has_ended_is_an_error_with_the_reason(daemon, end, code, reason):
    holder = LeaseClient(daemon)
    first = int(holder.hear().split()[1])
    assert getattr(daemon, end)() == code
    wait_for(lambda: holder.ask("held") == "not held", "the client to notice")
    daemon.start()
    answer = holder.ask("publish late")
    assert answer.startswith("error lease-lost"), answer
    assert reason in answer
    again = LeaseClient(daemon)
    word, fence, _ = again.hear().split()
    assert word == "lease" and int(fence) > first
    assert again.ask("publish anew") == "published"
    assert LeaseClient(daemon).hear() == "hit anew"


def test_a_publication_reports_an_unknown_outcome_if_the_daemon_is_killed(daemon):
    """Neither outcome is promised: the contents may be deposited or not."""
    holder = LeaseClient(daemon)
    holder.hear()
    daemon.freeze()
    holder.tell("publish x")
    wait_for(lambda: holder.threads() == 1, "the holder to publish")
    daemon.kill()
    answer = holder.hear()
    assert answer.startswith("error lease-lost") and "not known whether" in answer, answer


def test_a_publication_gives_up_on_a_daemon_that_hangs_as_other_calls_do(daemon):
    """Not only at the end of its own 30 s."""
    holder = LeaseClient(daemon)
    holder.hear()
    daemon.freeze()
    answer = holder.ask("publish x")
    assert answer.startswith("error unavailable") and "not known whether" in answer, answer


def test_a_waiter_acquires_the_lease_from_the_next_daemon(daemon):
    """It is safe to request a lease twice."""
    holder, waits = LeaseClient(daemon), None
    holder.hear()
    waits = LeaseClient(daemon)
    wait_for_waiters(daemon, 1)
    daemon.kill()
    daemon.start()
    assert waits.hear().startswith("lease ")
    assert waits.ask("publish x") == "published"


def test_a_stopped_holder_loses_its_lease_and_is_fenced(strict):
    """The holder slept for too long. The next process makes the deposit, and the daemon refuses the sleeper's
    publication."""
    sleeper = LeaseClient(strict)
    assert sleeper.hear().startswith("lease ")
    waits = LeaseClient(strict)
    wait_for_waiters(strict, 1)
    sleeper.stop()
    assert waits.hear().startswith("lease ")
    assert waits.ask("publish the second's") == "published"
    sleeper.go_on()
    answer = sleeper.ask("publish the sleeper's")
    assert answer.startswith("error lease-lost"), answer
    assert LeaseClient(strict).hear() == "hit the second's"
    assert strict.stats()["leases_lost_total"] == 1


def test_a_live_holder_keeps_its_lease_while_another_process_waits(strict):
    holder = LeaseClient(strict)
    holder.hear()
    hurried = LeaseClient(strict, timeout_ms=4000)  # longer than a silent holder keeps its lease
    assert hurried.hear().startswith("error deadline")
    assert holder.ask("held") == "held"
    assert holder.ask("publish x") == "published"


def test_a_holder_over_the_lease_limit_loses_its_lease_to_a_waiter(make_daemon):
    daemon = make_daemon("--lease-limit", "500ms").start()
    hangs = LeaseClient(daemon)
    hangs.hear()
    waits = LeaseClient(daemon)
    assert waits.hear().startswith("lease ")
    answer = hangs.ask("publish late")
    assert answer.startswith("error lease-lost") and "lease_limit" in answer, answer
    assert waits.ask("publish the second's") == "published"
    assert LeaseClient(daemon).hear() == "hit the second's"


def test_a_forked_child_holds_no_lease(daemon):
    holder = LeaseClient(daemon)
    holder.hear()
    holder.tell("publish-in-child x")
    assert holder.hear() == "not held"
    assert holder.hear().startswith("error lease-lost")
    assert holder.ask("publish the parent's") == "published"
    assert LeaseClient(daemon).hear() == "hit the parent's"


def key_of(value):
    fields = [deposit_pb2.DepositField(name="value", value=value)]
    return deposit_pb2.AcquireRequest(key=deposit_pb2.DepositKey(namespace="test", fields=fields))


def test_a_thousand_stock_clients_wait_for_one_deposit(daemon):
    """The clients are on ten connections. A hundred of them leave, and all others get the deposit."""

    async def wait(stub, leaves):
        call = stub.Acquire()
        await call.write(key_of(b"v"))
        if leaves:
            await leaves.wait()
            call.cancel()
            return None
        reply = await call.read()
        assert reply.HasField("found")
        return (await call.read()).contents

    async def run():
        channels = [grpc.aio.insecure_channel(f"unix:{daemon.socket}", options=[("grpc.use_local_subchannel_pool", 1)])
                    for _ in range(10)]
        stubs = [deposit_pb2_grpc.DepositStub(channel) for channel in channels]
        leave = asyncio.Event()
        calls = [asyncio.create_task(wait(stubs[i % 10], leave if i % 10 == 0 else None)) for i in range(1000)]
        await asyncio.to_thread(wait_for_waiters, daemon, 1000)
        leave.set()
        await asyncio.to_thread(wait_for_waiters, daemon, 900)
        assert await asyncio.to_thread(holder.ask, "publish made once") == "published"
        told = await asyncio.wait_for(asyncio.gather(*calls), PATIENCE)
        for channel in channels:
            await channel.close()
        return told

    holder = LeaseClient(daemon)
    assert holder.hear().startswith("lease ")
    threads = daemon.threads()
    told = asyncio.run(run())
    assert told.count(b"made once") == 900 and told.count(None) == 100
    assert daemon.threads() < threads + 100  # no thread waits for a single client
    assert daemon.stats()["leases_total"] == 1


def test_a_full_quota_drops_the_users_oldest_deposits(make_daemon):
    daemon = make_daemon("--deposit-limit-per-uid", "48KiB").start()
    keys = [deposit(daemon, str(number), f"contents {number}") for number in range(4)]
    assert LeaseClient(daemon, "3").hear() == "hit contents 3"
    assert {each["key"] for each in listed(daemon)} == set(keys[1:])
    assert daemon.stats()["deposit_evictions_total"] == 1
    too_large = LeaseClient(daemon, "large")
    too_large.hear()
    answer = too_large.ask(f"publish-bytes {3 * CHARGE + 1}")
    assert answer.startswith("error overloaded") and "deposit_limit_per_uid" in answer
    assert {each["key"] for each in listed(daemon)} == set(keys[1:])


def test_a_written_deposit_survives_a_kill_of_the_daemon(daemon):
    """A deposit is written without delay, but not before the answer to its publication."""
    key = deposit(daemon, "v", "kept over a kill")
    wait_for(lambda: any(b"kept over a kill" in file.read_bytes() for file in database_files(daemon)), "the write")
    daemon.kill()
    daemon.start()
    assert LeaseClient(daemon).hear() == "hit kept over a kill"
    assert [each["key"] for each in listed(daemon)] == [key]
    stats = daemon.stats()
    assert stats["deposits"] == 1 and stats["deposit_bytes"] == CHARGE


def test_a_deposit_is_complete_or_absent_if_the_daemon_is_killed_right_after_it(daemon):
    for number in range(10):
        contents = f"deposit {number}"
        deposit(daemon, str(number), contents)
        daemon.kill()
        daemon.start()
        told = LeaseClient(daemon, str(number)).hear()
        assert told == f"hit {contents}" or told.startswith("lease "), told


def test_a_corrupt_deposit_is_a_miss(daemon):
    holder = LeaseClient(daemon)
    key = bytes.fromhex(holder.hear().split()[2])
    assert holder.ask("publish-bytes 20000") == "published"
    deposit(daemon, "other", "whole")
    daemon.stop()
    # RocksDB writes a blob as a header, the plain key, and the compressed value.
    row = b"c" + key
    holders = [file for file in database_files(daemon) if file.suffix == ".blob" and row in file.read_bytes()]
    assert len(holders) == 1
    data = bytearray(holders[0].read_bytes())
    data[data.index(row) + len(row) + 20] ^= 1
    holders[0].write_bytes(data)
    daemon.start()
    again = LeaseClient(daemon)
    assert again.hear().startswith("lease ")
    assert again.ask("publish anew") == "published"
    assert LeaseClient(daemon).hear() == "hit anew"
    assert LeaseClient(daemon, "other").hear() == "hit whole"
    assert daemon.stats()["corrupt_entries_total"] == 1


def test_deposits_are_listed_and_removed_from_the_command_line(daemon):
    assert daemon.cli("deposits", "list").stdout == b"no deposits\n"
    keys = sorted(deposit(daemon, value, "12345") for value in ("a", "b", "c"))
    assert [each["key"] for each in listed(daemon)] == keys
    assert all(each["namespace"] == "test" and each["size"] == 5 and "gid" not in each for each in listed(daemon))
    text = daemon.cli("deposits", "list").stdout.decode()
    assert all(key in text for key in keys)
    done = daemon.cli("--json", "deposits", "remove", keys[0], keys[1])
    assert json.loads(done.stdout) == {"format_version": 1, "removed": keys[:2]}
    assert [each["key"] for each in listed(daemon)] == keys[2:]
    missing = daemon.cli("deposits", "remove", keys[0], check=False)
    assert missing.returncode == 4 and keys[0].encode() in missing.stderr
    assert daemon.cli("deposits", "remove", "no-key", check=False).returncode == 4
    assert daemon.cli("deposits", check=False).returncode == 2
    for words in (("deposits",), ("deposits", "list"), ("deposits", "remove")):
        assert b"Example" in daemon.cli(*words, "--help").stdout


def test_info_reports_the_limits_of_deposits_and_leases(make_daemon):
    daemon = make_daemon("--deposit-limit-per-uid", "1MiB", "--lease-heartbeat", "250ms").start()
    with daemon.channel() as channel:
        limits = info_pb2_grpc.InfoStub(channel).Get(info_pb2.InfoRequest()).limits
    assert (limits.deposit_bytes, limits.deposit_bytes_per_uid) == (1 << 20, 1 << 20)
    assert (limits.leases_per_uid, limits.lease_heartbeat_ms) == (64, 250)
