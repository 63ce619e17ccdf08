# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Two nodes with daemons of two versions share a Redis, as while the nodes of a site are upgraded one after the other.
scripts/versions runs this with the programs of an earlier commit."""

import grp
import itertools
import os
import threading
import time

import pytest
from lease_client import LeaseClient
from patience import PATIENCE, wait_for
from remote_nodes import await_connected, await_shared, count, keys, make_node, redis, site  # noqa: F401
from test_versions_in_turn import CLIS, DAEMONS, Client

GROUP = grp.getgrgid(os.getgid())
BUILDS, DEPOSITS = 60, 40  # of each client
SIZES = (5, 2_000_000, 9_000_000)  # of deposits; the last one exceeds what one entry may have


@pytest.fixture
def nodes(make_node, redis):
    """Returns a node of the other version, and one of this version."""
    made = [
        make_node(name, redis.url, "--remote-deposits", GROUP.gr_name, program=program)
        for name, program in zip(("other", "this"), DAEMONS)]
    for node in made:
        await_connected(node)
    return made


def ask(node, value, **keywords):
    return LeaseClient(node, str(value), of_group=str(GROUP.gr_gid), **keywords)


def publish(node, value, size):
    holder = ask(node, value)
    assert holder.hear().startswith("lease ")
    assert holder.ask(f"publish-bytes {size}") == "published"
    holder.end()


def test_each_version_gets_what_the_other_one_shares(nodes):
    for number, (writer, reader) in enumerate((nodes, nodes[::-1])):
        await_shared(writer, reader, lambda node, build: node.build_json(f"// {writer.directory} {build}\n"))
        writes = count(writer, "remote_writes_total")
        publish(writer, number, 5)
        wait_for(lambda: count(writer, "remote_writes_total") > writes, "the deposit in Redis")
        assert ask(reader, number).hear() == "hit xxxxx"


def test_a_holder_of_either_version_blocks_no_client_of_the_other_one(nodes):
    for one, two in (nodes, nodes[::-1]):
        first = ask(one, two.directory)
        assert first.hear().startswith("lease ")
        second = ask(two, two.directory)
        assert first.ask("publish of one") == "published"
        answer = second.hear()
        if answer != "hit of one":  # a version without leases that hold on all nodes
            assert answer.startswith("lease ")
            assert second.ask("publish of two") == "published"


class Depositor(threading.Thread):
    """Gets or makes one deposit after the other. Records each answer that is wrong."""

    def __init__(self, node, first):
        super().__init__(daemon=True)
        self.node, self.first = node, first
        self.found, self.made, self.wrong = 0, 0, []

    def run(self):
        try:
            for number in range(DEPOSITS):
                self.get((self.first + number) % DEPOSITS)
        except Exception as error:  # an exception in a thread would be lost
            self.wrong.append(repr(error))

    def get(self, number):
        size = SIZES[number % len(SIZES)] + number
        client = ask(self.node, f"deposit {number}")
        answer = client.hear()
        if answer == "hit " + "x" * size:
            self.found += 1
        elif answer.startswith("lease ") and client.ask(f"publish-bytes {size}") == "published":
            self.made += 1
        else:
            self.wrong.append((number, answer[:200]))
        client.end()


def test_builds_and_deposits_of_two_versions_at_once_are_all_right_and_none_hangs(nodes, directory):
    began = time.monotonic()
    contents = {}
    builders = [
        Client(cli, number, node.socket, directory, contents)
        for number, (cli, node) in enumerate(zip(CLIS * 2, nodes * 2))]
    depositors = [Depositor(node, first) for node, first in zip(nodes * 2, itertools.count(0, DEPOSITS // 4))]
    for each in builders + depositors:
        each.start()
    wait_for(lambda: all(each.done >= BUILDS or each.wrong for each in builders), "the builds")
    for each in builders:
        each.stopped = True
    for each in builders + depositors:
        each.join(PATIENCE)
        assert not each.is_alive()
    assert [each.wrong for each in builders + depositors] == [[]] * (len(builders) + len(depositors))
    for name, node in zip(("other", "this"), nodes):
        stats = node.stats()
        figures = ("compiles_total", "deposits_total", "remote_deposits_total", "remote_waits_total")
        print(name, {"remote hits": stats["hits_total"]["remote"], **{figure: stats[figure] for figure in figures}})
    print(f"{sum(each.done for each in builders)} builds; deposits: {sum(each.found for each in depositors)} found, "
          f"{sum(each.made for each in depositors)} made; {time.monotonic() - began:.1f} s")
