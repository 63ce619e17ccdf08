# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Containers without user namespaces. Their root is uid 0 of the host and can become any other uid. The tests use
control groups and mount namespaces in place of containers."""

import contextlib
import ctypes
import json
import os
import pathlib
import select
import subprocess
import sys
import types

import pytest
from http2 import connect
from lease_client import LeaseClient, deposit
from patience import PATIENCE, wait_for
from places import PLACES
from running_daemon import run_cli

from bystander import ATTACKER, BYSTANDER

CLONE_NEWNS = 0x00020000
CONTAINERS = 3
LIMIT = 64
TAKER = pathlib.Path(__file__).with_name("connection_taker.py")


class Container:
    """A control group. Processes enter it by `entry`, as Popen's preexec_fn."""

    def __init__(self, path, own_mounts=False):
        self.path = path
        self.own_mounts = own_mounts
        path.mkdir(exist_ok=True)

    def entry(self, uid=0):
        def enter():
            (self.path / "cgroup.procs").write_text(str(os.getpid()))
            if self.own_mounts:
                assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        return enter

    def end(self):
        """Removes the group and kills all its processes."""
        (self.path / "cgroup.kill").write_text("1")
        wait_for(lambda: "populated 0" in (self.path / "cgroup.events").read_text(), "the end of a container's processes")
        self.path.rmdir()

    def cli(self, socket, *arguments, uid=0, input=None):
        done = subprocess.run(
            [PLACES.cli, "--socket", socket, "--json", *arguments], input=input, capture_output=True, text=True, cwd="/",
            timeout=PATIENCE, preexec_fn=self.entry(uid))
        return json.loads(done.stdout)


@pytest.fixture
def containers(directory):
    """Several control groups of the unified hierarchy, which the test mounts once more."""
    mounted = directory / "groups"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", mounted], check=True)
    with contextlib.ExitStack() as ends:
        ends.callback(subprocess.run, ["umount", mounted], check=True)
        made = [Container(mounted / f"{directory.name}-{i}") for i in range(CONTAINERS)]
        for each in made:
            ends.callback(each.end)
        yield made


@pytest.fixture
def daemon(start_with_containers):
    return start_with_containers(LIMIT)


def heard(socket, entry=None, value="v"):
    """Returns the first word of a process that acquires the value."""
    client = LeaseClient(types.SimpleNamespace(socket=socket), value, preexec_fn=entry)
    word = client.hear().split()[0]
    client.end()
    return word


@pytest.mark.parametrize("uid", [0, ATTACKER])
def test_no_container_and_no_user_of_the_host_gets_another_containers_deposit(
        daemon, container_socket, containers, uid):
    first, second, _ = containers
    at_socket = types.SimpleNamespace(socket=container_socket)
    key = deposit(at_socket, "v", "MADE UP", preexec_fn=first.entry(uid))
    assert heard(container_socket, first.entry(uid)) == "hit"
    assert heard(container_socket, first.entry(uid + 1)) == "lease"
    assert heard(container_socket, second.entry(uid)) == "lease"
    assert heard(container_socket, Container(first.path, own_mounts=True).entry(uid)) == "lease"
    assert heard(daemon.socket, first.entry(uid)) == "lease"  # as a user of the host
    assert second.cli(container_socket, "deposits", "list", uid=uid)["deposits"] == []
    assert [each["key"] for each in first.cli(container_socket, "deposits", "list", uid=uid)["deposits"]] == [key]


def test_no_container_gets_or_replaces_a_deposit_of_a_user_of_the_host(daemon, container_socket, containers):
    deposit(daemon, "v", "OF THE HOST", preexec_fn=Container(containers[0].path).entry(ATTACKER))
    for container in containers:
        assert heard(container_socket, container.entry(ATTACKER)) == "lease"
    assert heard(daemon.socket, containers[0].entry(ATTACKER)) == "hit"


def test_no_container_deposits_for_a_group(daemon, container_socket, containers):
    client = LeaseClient(
        types.SimpleNamespace(socket=container_socket), "v", of_group="0", preexec_fn=containers[0].entry())
    assert "no groups" in client.hear()
    client.end()


def test_a_container_exports_only_its_answered_builds(daemon, container_socket, containers, directory):
    place = directory / "files"
    place.mkdir(mode=0o777)
    first, second, _ = containers

    def exported(container, socket=container_socket):
        return container.cli(socket, "snapshot", "create", str(place / "file"), uid=0).get("records", 0)

    daemon.build_json("// of the host\n", cwd="/")
    assert build(first, container_socket, 1) == "built"
    assert exported(first) == 1
    assert exported(second) == 0
    assert build(second, container_socket, 1) == "hit"  # all users share the daemon's own compile
    assert exported(second) == 1


def build(container, socket, number):
    return container.cli(socket, "build", "-", "--arch", "sm_90", "-o", os.devnull, input=f"// {number}\n")["outcome"]


def test_inserts_from_a_container_serve_only_that_container(daemon, container_socket, containers, directory):
    """The inserts are gone after a restart, because a container has no name that survives it."""
    first, second, third = containers
    file = directory / "file"
    for number in range(2):
        daemon.build_json(f"// {number}\n", cwd="/")
    daemon.cli("snapshot", "create", str(file))
    daemon.cli("evict", "--all", "--yes")
    assert first.cli(container_socket, "snapshot", "insert", str(file))["shared"] is False
    assert build(first, container_socket, 0) == "hit"
    assert build(second, container_socket, 0) == "built"
    assert daemon.stop() == 0
    daemon.start()
    assert build(third, container_socket, 1) == "built"


def test_containers_lock_no_user_of_the_host_out(daemon, container_socket, containers):
    """Each container's process becomes root and many other users, and opens as many connections as it may."""
    with contextlib.ExitStack() as ends:
        taken = 0
        for container in containers:
            taker = subprocess.Popen(
                [sys.executable, TAKER, container_socket, str(LIMIT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                preexec_fn=container.entry())
            ends.callback(taker.communicate, "")
            taken += int(taker.stdout.readline())
        print(f"{len(containers)} containers have {taken} of {LIMIT} connections")
        assert 0 < taken <= LIMIT // 2
        for user in None, BYSTANDER:
            assert daemon.cli("health", check=False, user=user, cwd="/").returncode == 0
    with connect(container_socket) as again:
        assert select.select([again], [], [], PATIENCE)[0] and again.recv(1)


def test_a_container_without_an_identity_builds_but_gets_no_lease(make_daemon, container_socket):
    """The daemon is in a pid namespace that does not contain its callers."""
    daemon = make_daemon(
        "--socket-mode", "0666", "--container-socket", container_socket,
        launcher=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]).start()
    client = LeaseClient(types.SimpleNamespace(socket=container_socket))
    assert "65534" in client.hear()
    client.end()
    build = run_cli(
        "--socket", container_socket, "--json", "build", "-", "--arch", "sm_90", "-o", os.devnull, input="// k\n", cwd="/")
    assert json.loads(build.stdout)["outcome"] == "built"
    assert daemon.build_json("// k\n", cwd="/")["outcome"] == "hit"
