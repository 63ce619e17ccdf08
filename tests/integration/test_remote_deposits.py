# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Deposits of a group that nodes share. The tests run as root, so that they can become any user."""

import grp

import pytest
from lease_client import LeaseClient, deposit, listed
from remote_nodes import await_connected, await_written, count, keys, make_node, redis, site  # noqa: F401

GROUP, OTHER = grp.getgrgid(100), grp.getgrgid(1)
ALICE = {"user": 54321, "group": 54321, "extra_groups": [GROUP.gr_gid]}
BOB = {"user": 54322, "group": 54322, "extra_groups": [GROUP.gr_gid, OTHER.gr_gid]}
CAROL = {"user": 54323, "group": 54323, "extra_groups": [OTHER.gr_gid]}


@pytest.fixture
def node(make_node, redis):
    """Makes nodes of a site that share the deposits of one group, unless other flags are given."""

    def make(name, *flags, groups=("--remote-deposits", GROUP.gr_name), **keywords):
        made = make_node(name, redis.url, "--socket-mode", "0666", *groups, *flags, **keywords)
        await_connected(made)
        return made

    return make


def of_group(node, named=GROUP, **identity):
    return LeaseClient(node, of_group=str(named.gr_gid), **identity).hear()


def share(node, contents="for the group"):
    deposit(node, "v", contents, of_group=str(GROUP.gr_gid), **ALICE)
    await_written(node, 1)


def test_members_on_another_node_get_the_deposit(node):
    one, two = node("one"), node("two")
    share(one)
    assert of_group(two, **BOB) == "hit for the group"
    assert [each["gid"] for each in listed(two, user=54322)] == [GROUP.gr_gid]
    lookups = count(two, "remote_lookups_total")
    assert of_group(two, **ALICE) == "hit for the group"
    assert count(two, "remote_lookups_total") == lookups  # the deposit is kept here
    assert count(two, "remote_deposits_total") == 1


def test_a_user_that_is_no_member_or_names_no_group_gets_nothing(node):
    one, two = node("one"), node("two")
    share(one)
    assert "54323 was not in group" in of_group(two, **CAROL)
    assert LeaseClient(two, **BOB).hear().startswith("lease ")
    assert of_group(two, OTHER, **BOB).startswith("lease ")
    assert count(two, "remote_lookups_total") == 0


def test_deposits_that_are_private_or_of_another_group_stay_on_their_node(node, redis):
    one, both = node("one"), node("both", "--remote-deposits", OTHER.gr_name)
    deposit(one, "v", "of alice", **ALICE)
    deposit(one, "v", "of the others", of_group=str(OTHER.gr_gid), **BOB)
    share(one)
    assert count(one, "remote_writes_total") == 1
    assert of_group(both, OTHER, **BOB).startswith("lease ")


@pytest.mark.parametrize("groups", [(), ("--remote-deposits", OTHER.gr_name)])
def test_a_node_that_does_not_list_the_group_neither_reads_nor_shares(node, groups):
    one, two = node("one"), node("two", groups=groups)
    share(one)
    client = LeaseClient(two, of_group=str(GROUP.gr_gid), **BOB)
    assert client.hear().startswith("lease ")
    assert client.ask("publish here alone") == "published"
    assert count(two, "remote_lookups_total") == 0
    assert count(two, "remote_writes_total") == 0


def test_a_deposit_that_its_user_removes_is_gone_from_redis(node):
    one, two = node("one"), node("two")
    share(one)
    [key] = [each["key"] for each in listed(one, user=54321)]
    one.cli("deposits", "remove", key, cwd="/", user=54321)
    # The same connection carries both questions in this order.
    again = LeaseClient(one, of_group=str(GROUP.gr_gid), **ALICE)
    assert again.hear().startswith("lease ")
    again.end()
    assert of_group(two, **BOB).startswith("lease ")


def test_a_deposit_signed_by_a_stranger_is_not_taken(node, keys):
    stranger, public = keys.make("stranger.key")
    one, two = node("one", key=stranger, trust=keys.trust("strangers", public)), node("two")
    share(one)
    assert of_group(two, **BOB).startswith("lease ")
    assert count(two, "remote_untrusted_total") == 2  # before the lease was taken, and with it

