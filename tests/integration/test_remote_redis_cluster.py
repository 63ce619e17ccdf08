# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that share a Redis cluster of three masters: whoever has a key is found, also after it has moved or failed over."""

import concurrent.futures
import itertools

import pytest
from conftest import wait_for
from redis_server import RedisCluster
from remote_nodes import (  # noqa: F401
    await_connected, built, count, keys, make_node, name_of, rights_in_the_guide, site, write_one_for_each)


@pytest.fixture
def cluster(directory):
    servers = RedisCluster(directory / "cluster")
    servers.place.mkdir()
    yield servers.start()
    servers.stop()


@pytest.fixture
def two_nodes(make_node, cluster):
    """The second one should compile nothing: after that it would wait for answers no longer than its compiles are worth."""
    nodes = make_node("1", cluster.url), make_node("2", cluster.url)
    for node in nodes:
        await_connected(node)
    return nodes


def write(node, cluster, source):
    """The name of an entry that a node wrote, and the master that has it."""
    name = name_of(node.build_json(source))
    holder = cluster.holder(name)
    wait_for(lambda: holder.ask("EXISTS", name), "the entry in Redis")
    return name, holder


def test_an_entry_of_one_node_is_a_hit_of_another_on_any_master(two_nodes, cluster):
    one, two = two_nodes
    for number in range(12):
        source = f"// {number}\n"
        write(one, cluster, source)
        assert built(two.build_json(source)) == ("hit", "remote")


def test_a_node_waits_for_the_compile_of_another_whichever_master_has_the_lease(two_nodes, cluster, toolkit):
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
                continue  # on a busy machine an answer or a connection came too late for the lease
            assert built(second.result()) == ("hit", "remote")
        waited += 1
    assert waited > 0


def test_an_entry_is_found_while_its_slot_moves_and_after_that(two_nodes, cluster):
    one, two = two_nodes
    for source in write_one_for_each(one, cluster).values():
        assert built(two.build_json(source)) == ("hit", "remote")  # it knows the map now
    for finished in (False, True):
        source = f"// moves {finished}\n"
        name, holder = write(one, cluster, source)
        target = next(master for master in cluster.masters if master is not holder)
        cluster.begin_move(name, holder, target)
        if finished:
            cluster.end_move(name, target)
        assert built(two.build_json(source)) == ("hit", "remote")


def test_a_master_that_dies_fails_no_build_and_its_successor_is_found(two_nodes, cluster):
    one, two = two_nodes
    for node in two_nodes:
        write_one_for_each(node, cluster)
    dies = cluster.masters[2]
    replica = cluster.add_replica(dies)
    dies.stop()
    wait_for(lambda: count(one, "remote_nodes_connected") == 2, "the loss of a master")
    assert (count(one, "remote_connected"), count(one, "remote_nodes")) == (1, 3)
    assert f"2 of 3 nodes connected to {cluster.url}; redis://127.0.0.1:{dies.port}: " in one.cli("remote", "status").stdout.decode()
    for number in range(12):
        for node in two_nodes:
            assert node.build_json(f"// without a master {number}\n")["outcome"] in ("built", "hit")
    replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
    cluster.masters[2] = replica
    cluster.await_agreement()
    numbers = itertools.count()

    def shared_again():
        source = f"// after the failover {next(numbers)}\n"
        answer = one.build_json(source)
        assert answer["outcome"] == "built"
        if not replica.owns(name_of(answer)) or not replica.ask("EXISTS", name_of(answer)):
            return False
        second = two.build_json(source)
        assert built(second) in (("hit", "remote"), ("built", ""))
        return second["outcome"] == "hit"

    wait_for(shared_again, "a hit from the successor")
    wait_for(lambda: count(one, "remote_nodes") == count(one, "remote_nodes_connected") == 3, "the successor in place of the master")
    assert f"connected to {cluster.url}, all 3 nodes" in one.cli("remote", "status").stdout.decode()


def test_with_a_dead_master_all_that_the_others_have_is_shared(two_nodes, cluster):
    one, two = two_nodes
    write_one_for_each(one, cluster)
    cluster.masters[2].stop()
    shared = 0
    for number in range(20):
        source = f"// without a master {number}\n"
        name = name_of(one.build_json(source))
        holder = next((master for master in cluster.masters[:2] if master.owns(name)), None)
        if holder is not None:
            wait_for(lambda: holder.ask("EXISTS", name), "the entry in Redis")
            assert built(two.build_json(source)) == ("hit", "remote")
            shared += 1
    assert shared > 0


def test_a_cluster_with_the_rights_that_the_guide_gives_is_enough(make_node, cluster, directory):
    for master in cluster.masters:
        master.ask("ACL", "SETUSER", "cccl", "on", ">secret", "~cccl-cached:*", "-@all",
                   *rights_in_the_guide(), "+asking", "+cluster|slots")
    password = directory / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    url = cluster.url.replace("redis://", "redis://cccl@")
    one, two = (make_node(name, url, "--remote-password-file", str(password)) for name in "12")
    for node in (one, two):
        await_connected(node)
    for source in write_one_for_each(one, cluster).values():
        assert built(two.build_json(source)) == ("hit", "remote")
    for node in (one, two):
        node.stop()
    assert [master.ask("ACL", "LOG") for master in cluster.masters] == [[], [], []]


def test_a_cluster_of_which_the_first_named_node_is_gone_is_found(make_node, cluster):
    cluster.masters[0].stop()
    ports = [master.port for master in cluster.masters]
    node = make_node("1", "redis://" + ",".join(f"127.0.0.1:{port}" for port in ports))
    await_connected(node)
    for number in range(12):
        assert node.build_json(f"// {number}\n")["outcome"] == "built"
    wait_for(lambda: cluster.masters[1].entries() and cluster.masters[2].entries(), "entries at the masters that are left")
