# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Containers of podman and crun without user namespaces. They get the daemon's socket for containers with the device that
`cccl-cache-cli cdi` describes. The tests check what a container gets from the daemon, and what it does not get."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest
from lease_client import LeaseClient, deposit
from places import PLACES
from running_daemon import run_cli
from stock_requests import files_view

from bystander import ATTACKER
from podman import Podman

PROJECT = pathlib.Path(__file__).parents[2]
LIMIT = 64
HERE = "/run/cccl-cached/socket"  # in a container, the path at which clients look for the socket
NODES = "/run/of-the-node/socket"
CUDA = pathlib.Path("/opt/cuda")
TAKER = PROJECT / "tests/attacks/connection_taker.py"
CLAIMER = PROJECT / "tests/attacks/view_claimer.py"
PROGRAM = PROJECT / "tests/integration/run_program.c"


@pytest.fixture
def daemon(start_with_containers):
    return start_with_containers(LIMIT, roots=(PLACES.cuda13,))


@pytest.fixture
def podman(directory):
    with Podman(directory / "podman") as made:
        yield made


@pytest.fixture
def start(podman, daemon, container_socket):
    """Starts a container with the device. The tests and their programs have the same paths as here."""
    build = pathlib.Path(PLACES.daemon).parents[1]
    mounts = {each: each for each in (PROJECT, build, sys.base_prefix)}
    podman.offer(run_cli("cdi", "--container-socket", container_socket).stdout)

    def started(name, cgroups="enabled", more=None):
        return podman.start(name, cgroups, {**mounts, **(more or {})}, "--device=cccl-cached/cache=client")

    return started


def heard(socket, behind=(), **keywords):
    """Returns the first word of a process that acquires the value."""
    client = LeaseClient(types.SimpleNamespace(socket=socket), behind=behind, **keywords)
    word = client.hear().split()[0]
    client.end()
    return word


def deposits(socket, behind=()):
    return json.loads(run_cli("--socket", socket, "--json", "deposits", "list", behind=behind, cwd="/").stdout)["deposits"]


@pytest.mark.parametrize("cgroups", ["enabled", "disabled"])
def test_no_container_and_no_user_of_the_host_gets_another_containers_deposit(start, daemon, container_socket, cgroups):
    containers = [start(name, cgroups) for name in ("first", "second")]
    for uid in 0, ATTACKER:
        first, second = (each.behind(uid) for each in containers)
        key = deposit(types.SimpleNamespace(socket=HERE), "v", "MADE UP", behind=first)
        assert heard(HERE, first) == "hit"
        assert heard(HERE, second) == "lease"
        for socket in daemon.socket, container_socket:
            assert heard(socket, user=uid) == "lease"
        assert [each["key"] for each in deposits(HERE, first)] == [key]
        assert deposits(HERE, second) == []


def test_no_container_gets_a_deposit_of_a_user_of_the_host(start, daemon):
    container = start("first")
    for uid in 0, ATTACKER:
        deposit(daemon, "v", "OF THE HOST", user=uid)
        assert heard(HERE, container.behind(uid)) == "lease"
        assert heard(daemon.socket, user=uid) == "hit"


def test_root_of_a_container_is_no_administrator_and_gets_no_reserved_connection(start, daemon):
    """The container's root becomes many users, and opens as many connections as each may have."""
    containers = [start(name) for name in ("first", "second")]
    denied = run_cli("--socket", HERE, "--json", "evict", "--all", "--yes", behind=containers[0].behind(), check=False)
    assert json.loads(denied.stdout)["error"]["status"] == "denied"
    with contextlib.ExitStack() as ends:
        taken = 0
        for container in containers:
            taker = subprocess.Popen([*container.behind(), sys.executable, TAKER, HERE, str(LIMIT)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
            ends.callback(taker.communicate, "")
            taken += int(taker.stdout.readline())
        assert 0 < taken <= LIMIT // 2
        for user in None, ATTACKER:
            assert daemon.cli("health", check=False, user=user, cwd="/").returncode == 0


def test_no_file_is_read_for_a_container_that_claims_the_daemons_view(start, daemon, directory):
    """The same holds at the socket of the node, if a container mounts it."""
    file = directory / "secret.h"
    file.write_text("// secret\n")
    file.chmod(0o600)
    container = start("first", more={pathlib.Path(NODES).parent: pathlib.Path(daemon.socket).parent})

    places = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("CCCL_CACHED_TEST_")]

    def claim(socket, behind=()):
        words = [*behind, "env", *places, sys.executable, CLAIMER, socket, files_view().SerializeToString().hex(), file]
        return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout

    assert claim(daemon.socket) == "OUTCOME_BUILT\n"
    for socket in HERE, NODES:
        assert claim(socket, container.behind()).startswith("files-needed"), socket


def test_programs_of_containers_are_served_under_run(start, daemon, directory):
    """The containers have a CUDA of their own, in a release that the daemon has too."""
    root = pathlib.Path(PLACES.cuda13).resolve()
    library = next(root.rglob("libnvrtc.so.1?"))
    program = directory / "program"
    subprocess.run(["cc", PROGRAM, "-w", "-pthread", "-o", program, "-ldl"], check=True)
    expected = subprocess.run([program, library], stdout=subprocess.PIPE, check=True).stdout
    daemon.cli("toolchains")  # programs don't wait until the daemon has read its toolchains
    for name, uid, counts in ("first", 0, (0, 1)), ("second", ATTACKER, (1, 0)):
        container = start(name, more={program: program, CUDA: root})
        done = run_cli("--json", "run", "--report", "--", program, CUDA / library.relative_to(root), behind=container.behind(uid))
        report = json.loads(done.stderr)
        assert done.stdout == expected
        assert (report["hits"], report["compiled"]) == counts, report
