# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Leases and deposits from Python."""

import concurrent.futures
import copy
import os
import pickle
import socket
import traceback

import cccl_cache
import pytest
from patience import PATIENCE, wait_for

SPACE = "org.example.test"


@pytest.fixture
def client(fake):
    return cccl_cache.Client(fake.socket)


def waiters(client):
    [gauge] = [each.value for each in client.stats() if each.name == "lease_waiters"]
    return gauge


def test_a_published_value_is_found_by_the_next_caller(client):
    with client.lease(SPACE, {"a": 1, "b": "text", "c": b"\0bytes"}) as lease:
        assert lease.contents is None and lease.held
        lease.publish(b"made\0here")
    with client.lease(SPACE, {"c": b"\0bytes", "b": "text", "a": "1"}) as again:
        assert (again.contents, again.key, again.held) == (b"made\0here", lease.key, False)
        with pytest.raises(ValueError):
            again.publish(b"other")


def test_a_lease_with_closed_descriptors_is_lost_and_the_programs_next_connections_are_whole(client):
    def is_lost():
        lease = client.lease(SPACE, {"a": 1})
        os.closerange(3, 256)
        own = [socket.socketpair() for _ in range(16)]
        ends = [end for pair in own for end in pair]
        for end in ends:
            end.send(b"mine!")
        try:
            lease.publish(b"made")
            return False
        except cccl_cache.Error as error:
            whole = all(end.recv(64, socket.MSG_DONTWAIT) == b"mine!" for end in ends)
            return error.status == "lease-lost" and whole and all(end.send(b"x") == 1 for end in ends) and client.lease(SPACE, {"a": 2}).held

    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if is_lost() else 1
        except Exception:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_lease_is_not_copied_and_stays_held(client, copied):
    with client.lease(SPACE, {"copied": copied.__name__}) as lease:
        with pytest.raises(TypeError, match="one owner"):
            copied(lease)
        assert lease.held


def test_a_waiter_gets_the_published_value(client):
    with client.lease(SPACE, {"a": 1}) as lease, concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.lease, SPACE, {"a": 1})
        wait_for(lambda: waiters(client) == 1, "a caller that waits for the lease")
        lease.publish(b"made")
        assert waiting.result(PATIENCE).contents == b"made"


def test_a_block_that_ends_without_publishing_gives_the_lease_up(client):
    with pytest.raises(RuntimeError), client.lease(SPACE, {"a": 1}) as lease:
        raise RuntimeError("it can't be made")
    with client.lease(SPACE, {"a": 1}) as other:
        assert other.contents is None
        assert other.fence > lease.fence
    with pytest.raises(cccl_cache.Error) as raised:
        lease.publish(b"too late")
    assert raised.value.status == "lease-lost"


def test_a_wait_ends_at_its_timeout(client):
    with client.lease(SPACE, {"a": 1}), pytest.raises(cccl_cache.DeadlineError):
        client.lease(SPACE, {"a": 1}, timeout=0.05)


def test_deposits_are_listed_and_removed(client):
    with client.lease(SPACE, {"a": 1}) as lease:
        lease.publish(b"made")
    [deposit] = client.deposits()
    assert (deposit.key, deposit.namespace, deposit.gid, deposit.size) == (lease.key, SPACE, None, 4)
    assert client.remove_deposit(lease.key)
    assert not client.remove_deposit(lease.key)
    assert client.deposits() == ()


def test_a_user_replaces_its_deposit(client):
    with client.lease(SPACE, {"a": 1}) as lease:
        lease.publish(b"old")
    with client.lease(SPACE, {"a": 1}, replace=True) as lease:
        assert lease.contents is None and lease.held
        assert client.lease(SPACE, {"a": 1}).contents == b"old"
        lease.publish(b"new")
    assert client.lease(SPACE, {"a": 1}).contents == b"new"
    assert [deposit.size for deposit in client.deposits()] == [3]


def test_a_caller_may_wait_for_a_deposit_without_the_lease(client):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        nothing = client.lease(SPACE, {"a": 1}, wait_only=True)
        assert (nothing.contents, nothing.held, nothing.released) == (None, False, True)
        with client.lease(SPACE, {"a": 1}) as lease:
            waiting = pool.submit(client.lease, SPACE, {"a": 1}, wait_only=True)
            wait_for(lambda: waiters(client) == 1, "a caller that waits for the deposit")
            lease.publish(b"made")
        assert waiting.result(PATIENCE).contents == b"made"
    assert client.lease(SPACE, {"a": 1}, wait_only=True).contents == b"made"


def test_a_waiter_is_released_when_the_holder_fails(client):
    with client.lease(SPACE, {"a": 1}) as lease, concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert not lease.released
        waiting = [pool.submit(client.lease, SPACE, {"a": 1}) for _ in range(2)]
        wait_for(lambda: waiters(client) == 2, "callers that wait for the lease")
        lease.fail()
        for each in waiting:
            released = each.result(PATIENCE)
            assert (released.contents, released.held, released.released, released.key) == (None, False, True, lease.key)
            with pytest.raises(cccl_cache.Error) as raised:
                released.publish(b"made")
            assert raised.value.status == "lease-lost"
    assert client.lease(SPACE, {"a": 1}).held


def test_deposits_are_touched_whether_there_are_any_or_not(client):
    client.touch_deposits(SPACE, [{"a": number} for number in range(1000)])
    client.touch_deposits(SPACE, [])
    with pytest.raises(cccl_cache.Error) as raised:
        client.touch_deposits("", [{"a": 1}])
    assert raised.value.status == "invalid-request"
