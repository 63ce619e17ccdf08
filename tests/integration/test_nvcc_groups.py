# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of nvcc that the members of a group share. The tests run as root, so that they can become any user."""

import grp
import os

import pytest
from nvcc_toolkit import Toolkit
from running_daemon import run_cli
from remote_nodes import await_connected, await_written, count, keys, make_node, redis, site  # noqa: F401

GROUP = grp.getgrgid(100)
NAMED = ("--group", GROUP.gr_name)
ALICE = {"user": 54321, "group": 54321, "extra_groups": [GROUP.gr_gid]}
BOB = {"user": 54322, "group": 54322, "extra_groups": [GROUP.gr_gid]}
CAROL = {"user": 54323, "group": 54323, "extra_groups": []}


@pytest.fixture
def project(directory):
    """A project whose files all users may write."""
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"
    made = Toolkit(directory / "project", "")
    made.words = ["-ptx", "a.cu", "-o", "a.ptx", "-Ifirst", "-Isecond", "-arch=compute_90"]
    for place in (made.work, *made.work.iterdir()):
        place.chmod(0o777)
    return made


@pytest.fixture
def shared(make_daemon):
    """A daemon with a socket for all users."""
    return make_daemon("--socket-mode", "0666").start()


def how(toolkit, *words, **environment):
    """Returns how this user got the output, which is removed."""
    found = toolkit.how(*words, **environment)
    (toolkit.work / "a.ptx").unlink()
    return found


def test_a_run_is_a_hit_for_members_who_name_the_group_and_for_no_other_user(project, shared):
    assert how(project.as_user(shared.socket, NAMED, **ALICE)) == "made"
    assert how(project.as_user(shared.socket, NAMED, **BOB)) == "hit"
    assert how(project.as_user(shared.socket, **BOB)) == "made"  # its own, without the group's
    assert how(project.as_user(shared.socket, **BOB), CCCL_CACHE_GROUP=str(GROUP.gr_gid)) == "hit"
    carol = project.as_user(shared.socket, NAMED, **CAROL)
    assert "54323 was not in group 100" in how(carol)
    assert carol.report()["forwarded"]["access denied"] > 0
    assert carol.report()["hits"] == 0
    assert how(project.as_user(shared.socket, **CAROL)) == "made"


def test_the_steps_of_a_run_are_shared_as_well(project, shared):
    """Runs with -v are never kept as a whole."""
    words = [*project.words, "-v"]
    alice, bob = (project.as_user(shared.socket, NAMED, **user) for user in (ALICE, BOB))
    how(alice, *words)
    assert (alice.report()["compiled"], alice.report()["hits"]) == (1, 0)  # cicc
    how(bob, *words)
    assert (bob.report()["compiled"], bob.report()["hits"]) == (0, 1)


def test_an_unknown_group_is_an_error_of_run_and_never_one_of_nvcc(project, shared):
    done = run_cli("run", "--group", "nosuch", "--", "true", check=False)
    assert done.returncode == 2
    assert b'no group "nosuch"' in done.stderr
    assert 'no group "nosuch"' in how(project.as_user(shared.socket, **ALICE), CCCL_CACHE_GROUP="nosuch")


def test_a_member_has_results_of_its_own_if_those_of_others_fill_the_series(project, shared):
    header = project.work / "second/value.h"
    alice, bob = (project.as_user(shared.socket, NAMED, **user) for user in (ALICE, BOB))
    for value in range(9):  # the last one replaces the first
        header.write_text(f"#define VALUE {value}\n")
        assert how(alice) == "made"
    header.write_text("#define VALUE 9\n")
    assert [how(bob), how(bob)] == ["made", "hit"]
    header.write_text("#define VALUE 8\n")
    assert how(bob) == "hit"


def test_members_on_another_node_get_the_run_if_both_nodes_list_the_group(project, make_node, redis):  # noqa: F811
    def node(name, *flags):
        made = make_node(name, redis.url, "--socket-mode", "0666", *flags)
        await_connected(made)
        return made

    listed = ("--remote-deposits", GROUP.gr_name)
    one, two, other = node("one", *listed), node("two", *listed), node("other")
    assert how(project.as_user(one.socket, **BOB)) == "made"  # private, so that it is not shared
    assert how(project.as_user(one.socket, NAMED, **ALICE)) == "made"
    await_written(one, 2)
    assert how(project.as_user(two.socket, NAMED, **BOB)) == "hit"
    assert count(two, "remote_deposits_total") == 1
    assert how(project.as_user(two.socket, **BOB)) == "made"
    assert how(project.as_user(other.socket, NAMED, **BOB)) == "made"
