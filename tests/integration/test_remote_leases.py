# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Leases on deposits of a group hold on all nodes, which also share large deposits. The tests run as root, so that they can become any user."""

import concurrent.futures
import grp
import signal

import pytest
from lease_client import LeaseClient, listed, wait_for_waiters
from patience import wait_for
from redis_server import RedisServers
from remote_nodes import await_connected, count, keys, make_node, redis, site  # noqa: F401

GROUP = grp.getgrgid(100)
ALICE = {"user": 54321, "group": 54321, "extra_groups": [GROUP.gr_gid]}
BOB = {"user": 54322, "group": 54322, "extra_groups": [GROUP.gr_gid]}


@pytest.fixture
def node(make_node, redis):
    """Makes nodes of a site that share the deposits of one group."""

    def make(name, *flags, **keywords):
        made = make_node(name, redis.url, "--socket-mode", "0666", "--remote-deposits", GROUP.gr_name, *flags, **keywords)
        await_connected(made)
        return made

    return make


@pytest.fixture
def nodes(node):
    return node("one"), node("two")


def ask(node, value="v", how="", **identity):
    return LeaseClient(node, value, of_group=str(GROUP.gr_gid), how=how, **(identity or ALICE))


def wait_on(node, **identity):
    """Starts a client that waits for another node's lease."""
    client = ask(node, **identity)
    wait_for_waiters(node, 1)
    wait_for(lambda: count(node, "remote_waits_total") > 0, "a wait for the other node")
    return client


def holder_on(node):
    client = ask(node)
    assert client.hear().startswith("lease ")
    wait_for(lambda: count(node, "remote_leases_total") == 1, "the lease of all nodes")
    return client


def test_eight_processes_on_two_nodes_make_two_deposits_once_each(nodes):
    def run(number):
        client = ask(nodes[number % 2], value=f"kernel {number // 2 % 2}")
        answer = client.hear()
        made = answer.startswith("lease ")
        if made:
            assert client.ask(f"publish of kernel {number // 2 % 2}") == "published"
        else:
            assert answer == f"hit of kernel {number // 2 % 2}"
        return made

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(run, range(8))) == 2
    assert sum(count(node, "deposits_total") for node in nodes) == 2


def test_a_waiter_on_another_node_gets_the_deposit_when_it_is_published(nodes):
    one, two = nodes
    holder, waiter = holder_on(one), wait_on(two, **BOB)
    assert holder.ask("publish of one") == "published"
    assert waiter.hear() == "hit of one"
    assert count(two, "leases_total") == 0
    assert count(two, "deposit_saved_seconds_total") > 0


def test_a_caller_that_only_waits_gets_the_deposit_that_another_node_makes(nodes):
    one, two = nodes
    assert ask(two, how="wait").hear().startswith("released ")
    holder = holder_on(one)
    watcher = ask(two, how="wait", **BOB)
    wait_for(lambda: count(two, "remote_waits_total") == 1, "a wait for the other node")
    assert holder.ask("publish of one") == "published"
    assert watcher.hear() == "hit of one"
    assert count(two, "leases_total") == 0


def test_a_caller_that_only_waits_is_released_if_the_other_node_fails_or_this_one_stops(nodes):
    one, two = nodes
    holder = holder_on(one)
    watcher = ask(two, how="wait")
    wait_for(lambda: count(two, "remote_waits_total") == 1, "a wait for the other node")
    assert holder.ask("fail") == "failed"
    assert watcher.hear().startswith("released ")
    _holder = ask(one)
    assert _holder.hear().startswith("lease ")
    watcher = ask(two, how="wait")
    wait_for(lambda: count(two, "remote_waits_total") == 2, "a wait for the other node")
    assert two.stop() == 0
    assert watcher.hear().startswith("error ")


@pytest.mark.parametrize("end", ["kill", "fail", "abandon"])
def test_a_waiter_on_another_node_gets_the_lease_of_a_holder_that_ends(nodes, end):
    one, two = nodes
    holder, waiter = holder_on(one), wait_on(two)
    if end == "kill":
        holder.kill()
    else:
        holder.ask(end)
    assert waiter.hear().startswith("lease ")
    assert waiter.ask("publish of two") == "published"
    assert ask(one).hear() == "hit of two"


def test_a_waiter_on_another_node_gets_the_lease_of_a_holder_that_is_stopped(node):
    one, two = node("one", "--lease-heartbeat", "1s"), node("two")
    holder, waiter = holder_on(one), wait_on(two)
    holder.stop()
    assert waiter.hear().startswith("lease ")
    assert waiter.ask("publish of two") == "published"
    holder.go_on()
    assert holder.ask("publish of one").startswith("error lease-lost")
    assert ask(one).hear() == "hit of two"


def test_a_waiter_gets_the_lease_when_the_daemon_of_the_holder_is_killed(nodes):
    one, two = nodes
    _holder, waiter = holder_on(one), wait_on(two)
    one.kill()
    assert waiter.hear().startswith("lease ")


def test_a_late_publication_does_not_replace_the_deposit_of_the_next_holder(nodes, redis, node):
    one, two = nodes
    holder, waiter = holder_on(one), wait_on(two)
    one.freeze()
    assert waiter.hear().startswith("lease ")
    assert waiter.ask("publish of two") == "published"
    wait_for(lambda: redis.entries("d"), "the deposit in Redis")
    one.process.send_signal(signal.SIGCONT)
    assert holder.ask("publish of one") == "published"
    wait_for(lambda: count(one, "remote_writes_fenced_total") == 1, "the late write")
    assert count(one, "remote_writes_failed_total") == 0
    assert ask(one).hear() == "hit of one"
    assert ask(node("three")).hear() == "hit of two"


def test_a_redis_that_is_stopped_while_a_node_waits_lets_each_node_make_the_deposit(nodes, redis):
    one, two = nodes
    holder, waiter = holder_on(one), wait_on(two)
    redis.stop()
    assert waiter.hear().startswith("lease ")
    assert waiter.ask("publish of two") == "published"
    assert holder.ask("publish of one") == "published"


def test_a_lease_that_no_trusted_node_signed_is_not_waited_for(nodes, redis):
    one, two = nodes
    _holder = holder_on(one)
    [name] = redis.entries("l")
    one.kill()
    redis.ask("SET", name, b"a" * 32)
    assert ask(two).hear().startswith("lease ")


def key_of_deposit(node, redis):
    """Returns the key of the deposit in Redis."""
    holder = holder_on(node)
    [name] = redis.entries("l")
    holder.kill()
    wait_for(lambda: not redis.entries("l"), "the end of the lease")
    return name.decode().rpartition(":")[2]


PUT_JUNK = {
    "text": lambda redis, name: redis.ask("SET", name, b"junk"),
    "large text": lambda redis, name: redis.ask("SET", name, b"junk" * 2_500_000),
    "a list": lambda redis, name: redis.ask("RPUSH", name, b"junk"),
}


@pytest.mark.parametrize("size", [5, 9_000_000])
@pytest.mark.parametrize("junk, at_deposit", [*((each, each) for each in PUT_JUNK), ("a list", "text")])
def test_junk_at_the_keys_of_a_deposit_keeps_its_value_from_no_node(node, redis, junk, at_deposit, size):
    key = key_of_deposit(node("one"), redis)
    for kind in "ldc":
        PUT_JUNK[junk if kind == "l" else at_deposit](redis, f"cccl-cached:{kind}:{key}")
    two = node("two")
    holder = ask(two)
    assert holder.hear().startswith("lease ")
    assert holder.ask(f"publish-bytes {size}") == "published"
    wait_for(lambda: count(two, "remote_writes_total") == 1, "the deposit in Redis")
    three = node("three")
    assert ask(three).hear() == "hit " + "x" * size
    assert count(three, "remote_malformed_total") == 0


def test_entries_of_an_unknown_key_are_replaced_also_by_a_writer_without_a_lease(node, keys, redis):
    stranger, public = keys.make("stranger.key")
    other = node("other", key=stranger, trust=keys.trust("strangers", public))
    holder = holder_on(other)
    [name] = redis.entries("l")
    lease = redis.ask("GET", name)
    assert holder.ask("publish of a stranger") == "published"
    wait_for(lambda: redis.entries("d") and not redis.entries("l"), "the deposit in Redis, and the end of the lease")
    redis.ask("SET", name, lease)
    two = node("two")
    holder = ask(two)
    assert holder.hear().startswith("lease ")
    assert holder.ask("publish of two") == "published"
    wait_for(lambda: count(two, "remote_writes_total") == 1, "the deposit in Redis")
    assert ask(node("three")).hear() == "hit of two"


def test_a_writer_without_a_lease_does_not_replace_a_deposit_that_it_can_verify(node, nodes, redis):
    one, two = nodes
    redis.ask("SET", f"cccl-cached:l:{key_of_deposit(one, redis)}", b"junk")
    first, second = ask(one), ask(two)
    assert first.hear().startswith("lease ") and second.hear().startswith("lease ")
    assert first.ask("publish of one") == "published"
    wait_for(lambda: count(one, "remote_writes_total") == 1, "the deposit in Redis")
    assert second.ask("publish of two") == "published"
    wait_for(lambda: count(two, "remote_writes_fenced_total") == 1, "the end of the second write")
    assert ask(node("three")).hear() == "hit of one"


@pytest.fixture
def large(node, redis):
    """Returns a node with a deposit of 20,000,000 bytes that is in Redis, and the names of its chunks in order."""
    one = node("one")
    holder = holder_on(one)
    assert holder.ask("publish-bytes 20000000") == "published"
    wait_for(lambda: count(one, "remote_writes_total") == 1, "the deposit in Redis")
    names = [name.decode() for name in redis.entries("c")]
    assert len(names) == 21  # the list, and a chunk for each MiB begun
    return one, sorted((name for name in names if name.count(":") == 3), key=lambda name: int(name.split(":")[-1]))


def test_a_large_deposit_is_shared_in_chunks_and_a_removal_removes_them(node, large, redis):
    one, chunks = large
    assert redis.entries("d") == []
    assert max(redis.ask("STRLEN", name) for name in chunks) < 2 << 20
    two = node("two")
    assert ask(two).hear() == "hit " + "x" * 20_000_000
    assert count(two, "deposit_saved_seconds_total") > 0
    [key] = [each["key"] for each in listed(one, user=ALICE["user"])]
    one.cli("deposits", "remove", key, cwd="/", user=ALICE["user"])
    wait_for(lambda: redis.entries("c") == [], "the removal of all chunks")


@pytest.mark.parametrize("damage", ["missing", "damaged", "mixed"])
def test_a_large_deposit_with_a_wrong_chunk_is_made_again(node, large, redis, damage):
    _, chunks = large
    if damage == "missing":
        redis.ask("DEL", chunks[3])
    elif damage == "damaged":
        redis.ask("SETRANGE", chunks[3], 20, b"?")
    else:
        redis.ask("SET", chunks[3], redis.ask("GET", chunks[-1]))
    two = node("two")
    holder = ask(two)
    assert holder.hear().startswith("lease ")
    assert holder.ask("publish of two") == "published"
    assert ask(node("three")).hear() == "hit of two"
    wait_for(lambda: redis.entries("d"), "the deposit in Redis")
    assert not redis.ask("GETRANGE", chunks[0].rpartition(":")[0], 0, 0)  # the list, so that no node reads the old one


@pytest.mark.parametrize("size", [5, 9_000_000])
def test_a_replacement_reaches_the_other_nodes_also_if_it_is_shared_in_the_other_form(node, large, redis, size):
    one, _ = large
    for bytes_of_this in (size, 20_000_000, size):
        holder = ask(one, how="replace")
        assert holder.hear().startswith("lease ")
        assert holder.ask(f"publish-bytes {bytes_of_this}") == "published"
        holder.end()
    wait_for(lambda: count(one, "remote_writes_total") == 4, "the replacements in Redis")
    assert ask(node("two")).hear() == "hit " + "x" * size


def test_leases_and_large_deposits_work_over_several_servers(make_node, directory):
    servers = RedisServers(directory).start()
    try:
        one, two = (
            make_node(name, servers.url, "--socket-mode", "0666", "--remote-deposits", GROUP.gr_name)
            for name in ("one", "two"))
        for node in (one, two):
            await_connected(node, 3)
        for value in "abc":
            holder = ask(one, value)
            assert holder.hear().startswith("lease ")
            waits = count(two, "remote_waits_total")
            waiter = ask(two, value)
            wait_for(lambda: count(two, "remote_waits_total") > waits, "a wait for the other node")
            assert holder.ask("publish-bytes 9000000") == "published"
            assert waiter.hear() == "hit " + "x" * 9_000_000
    finally:
        servers.stop()
