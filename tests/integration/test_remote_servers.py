# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that share three Redis servers. Each key is on one of them, the same for all nodes. A dead server costs only
its own keys."""

import concurrent.futures
import itertools

import pytest
from conftest import wait_for
from redis_server import RedisServers
from remote_nodes import (  # noqa: F401
    await_connected, built, count, ended_writes, keys, make_node, name_of, rights_in_the_guide, site, write_one_for_each)


@pytest.fixture
def servers(directory):
    three = RedisServers(directory)
    yield three.start()
    three.stop()


@pytest.fixture
def two_nodes(make_node, servers):
    """Two nodes that name the servers in different orders. The second node should compile nothing, because after its
    first compiles it would wait for answers only as long as those took."""
    first, *others = servers.ports
    url = ",".join(["redis://127.0.0.1:" + str(others[0]), f"127.0.0.1:{first}", f"127.0.0.1:{others[1]}"])
    nodes = make_node("1", servers.url), make_node("2", url)
    for node in nodes:
        await_connected(node, 3)
    return nodes


def test_an_entry_of_one_node_is_a_hit_of_another_whichever_server_has_it(two_nodes, servers):
    one, two = two_nodes
    for source in write_one_for_each(one, servers).values():
        assert built(two.build_json(source)) == ("hit", "remote")


def test_a_node_waits_for_the_compile_of_another_whichever_server_has_the_lease(two_nodes, toolkit):
    one, two = two_nodes
    waited = 0
    for number in range(6):
        name = f"held{number}"
        source = f"//fake: wait-for {name}\n"
        waits = count(two, "remote_waits_total")
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            first = threads.submit(one.build_json, source)
            toolkit.await_arrivals(name, 1)
            second = threads.submit(two.build_json, source)
            wait_for(lambda: count(two, "remote_waits_total") > waits or toolkit.arrivals(name) == 2, "a wait for the other node")
            toolkit.open(name)
            assert first.result()["outcome"] == "built"
            if toolkit.arrivals(name) == 2:
                continue  # on a busy machine an answer or a connection was too late for the lease
            assert built(second.result()) == ("hit", "remote")
        waited += 1
    assert waited > 0


def test_with_a_dead_server_entries_of_the_others_are_shared(two_nodes, servers):
    one, two = two_nodes
    write_one_for_each(one, servers)
    assert f"connected to {servers.urls[0]}, all 3 nodes" in one.cli("remote", "status").stdout.decode()
    servers.all[2].stop()
    wait_for(lambda: count(one, "remote_nodes_connected") == 2, "the loss of a server")
    assert (count(one, "remote_connected"), count(one, "remote_nodes")) == (1, 3)
    assert f"2 of 3 nodes connected to {servers.urls[0]}; {servers.urls[2]}: " in one.cli("remote", "status").stdout.decode()
    shared = 0
    for number in itertools.count():
        source = f"// without a server {number}\n"
        before = ended_writes(one)
        answer = one.build_json(source)
        assert answer["outcome"] == "built"
        wait_for(lambda: ended_writes(one) > before, "the end of a write")
        if servers.holder(name_of(answer)):
            assert built(two.build_json(source)) == ("hit", "remote")
            shared += 1
        if shared == 3:
            break


def test_the_rights_in_the_guide_are_enough_for_several_servers(make_node, servers, directory):
    for server in servers.all:
        server.ask("ACL", "SETUSER", "cccl", "on", ">secret", "~cccl-cached:*", "-@all", *rights_in_the_guide())
    password = directory / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    url = servers.url.replace("redis://", "redis://cccl@")
    one, two = (make_node(name, url, "--remote-password-file", str(password)) for name in "12")
    for node in (one, two):
        await_connected(node, 3)
    for source in write_one_for_each(one, servers).values():
        assert built(two.build_json(source)) == ("hit", "remote")
    for node in (one, two):
        node.stop()
    assert [server.ask("ACL", "LOG") for server in servers.all] == [[], [], []]


def test_the_other_servers_are_used_if_the_first_one_is_gone(make_node, servers):
    servers.all[0].stop()
    node = make_node("1", servers.url)
    await_connected(node, 2)
    numbers = itertools.count()

    def written():
        assert node.build_json(f"// {next(numbers)}\n")["outcome"] == "built"
        return all(server.entries() for server in servers.all[1:])

    wait_for(written, "entries at the servers that are left")
