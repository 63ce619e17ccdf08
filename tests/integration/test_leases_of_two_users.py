# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The scope of deposits: private to a user, or shared by a group. The tests run as root, so that they can become any
user."""

import os
import subprocess

import pytest
from lease_client import LeaseClient, deposit, listed, wait_for_waiters
from patience import PATIENCE
from places import PLACES

ALICE = {"user": 54321, "group": 54321, "extra_groups": [60001]}
BOB = {"user": 54322, "group": 54322, "extra_groups": [60001, 60002]}
CAROL = {"user": 54323, "group": 54323, "extra_groups": [60002]}
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"


@pytest.fixture
def shared(make_daemon):
    """A daemon with a socket for all users."""
    return make_daemon("--socket-mode", "0666").start()


def test_two_users_neither_wait_for_each_other_nor_see_each_others_deposits(shared):
    alice, bob = LeaseClient(shared, **ALICE), LeaseClient(shared, **BOB)
    for client in (alice, bob):  # neither waits for the lease of the other
        assert client.hear().startswith("lease ")
    assert alice.ask("publish of alice") == "published"
    assert bob.ask("publish of bob") == "published"
    assert LeaseClient(shared, **ALICE).hear() == "hit of alice"
    assert LeaseClient(shared, **BOB).hear() == "hit of bob"
    # Root's deposits are private to root too.
    assert LeaseClient(shared).hear().startswith("lease ")


def test_a_lease_belongs_to_the_user_that_acquired_it(shared):
    """A lease stays with its user even if the program continues as another user, like an open file."""
    client = LeaseClient(shared)
    assert client.hear().startswith("lease ")
    assert client.ask(f"become {ALICE['user']}") == "became"
    assert client.ask("publish of root") == "published"
    assert LeaseClient(shared).hear() == "hit of root"
    assert LeaseClient(shared, **ALICE).hear().startswith("lease ")


def test_members_of_a_group_share_the_deposits_that_they_request_for_the_group(shared):
    deposit(shared, "v", "for the group", of_group="60001", **ALICE)
    assert LeaseClient(shared, of_group="60001", **BOB).hear() == "hit for the group"
    # A caller that does not ask for the group's deposits gets none of them.
    assert LeaseClient(shared, **BOB).hear().startswith("lease ")
    assert LeaseClient(shared, of_group="60002", **BOB).hear().startswith("lease ")


def test_a_group_with_very_many_members_is_found_by_its_name(shared, directory):
    """The group's entry in the system's list is longer than any initial buffer."""
    groups = directory / "group"
    groups.write_text(f"large:x:60001:{','.join(f'member-{number}' for number in range(20_000))}\n")
    alone = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"', str(groups)]
    done = subprocess.run([*alone, PLACES.lease_client, shared.socket, "v", "large"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, extra_groups=[60001], timeout=PATIENCE)
    assert done.stdout.startswith("lease "), done.stdout + done.stderr


def test_members_of_a_group_wait_for_one_lease(shared):
    alice = LeaseClient(shared, of_group="60001", **ALICE)
    assert alice.hear().startswith("lease ")
    bob = LeaseClient(shared, of_group="60001", **BOB)
    wait_for_waiters(shared, 1)
    alice.kill()
    assert bob.hear().startswith("lease ")
    assert bob.ask("publish by bob") == "published"
    assert LeaseClient(shared, of_group="60001", **ALICE).hear() == "hit by bob"


def test_a_user_outside_a_group_is_denied_whether_or_not_it_has_a_deposit(shared):
    answers = [LeaseClient(shared, of_group="60001", **CAROL).hear()]
    deposit(shared, "v", "for the group", of_group="60001", **ALICE)
    answers.append(LeaseClient(shared, of_group="60001", **CAROL).hear())
    assert answers[0] == answers[1]
    assert answers[0].startswith("error denied")


def test_each_user_lists_and_removes_its_own_deposits(shared):
    key = deposit(shared, "v", "of alice", **ALICE)
    group_key = deposit(shared, "v", "for the group", of_group="60001", **ALICE)
    assert [each["key"] for each in listed(shared, user=ALICE["user"])] == sorted([key, group_key])
    assert {each.get("gid") for each in listed(shared, user=ALICE["user"])} == {None, 60001}
    assert listed(shared, user=BOB["user"]) == []
    # The answer is the same as for a key that does not exist.
    told = [shared.cli("deposits", "remove", each, user=BOB["user"], cwd="/", check=False)
            for each in (key, group_key, "0" * 64)]
    assert {done.returncode for done in told} == {4}
    assert {done.stderr.replace(each.encode(), b"KEY")
            for done, each in zip(told, (key, group_key, "0" * 64))} == {told[0].stderr.replace(key.encode(), b"KEY")}
    shared.cli("deposits", "remove", key, user=ALICE["user"], cwd="/")
    assert [each["key"] for each in listed(shared, user=ALICE["user"])] == [group_key]


def test_the_overflow_uid_has_no_deposits(shared):
    assert LeaseClient(shared, **NOBODY).hear().startswith("error denied")
    done = shared.cli("deposits", "list", user=NOBODY["user"], cwd="/", check=False)
    assert done.returncode == 4 and b"65534" in done.stderr


def test_a_full_quota_of_one_user_does_not_affect_another(make_daemon):
    daemon = make_daemon("--socket-mode", "0666", "--deposit-limit-per-uid", "32KiB").start()
    deposit(daemon, "v", "of bob", **BOB)
    for number in range(5):
        deposit(daemon, str(number), "of alice", **ALICE)
    assert len(listed(daemon, user=ALICE["user"])) == 2
    assert LeaseClient(daemon, **BOB).hear() == "hit of bob"
