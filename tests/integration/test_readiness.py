# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Each problem that stops the daemon's work shows in `health`, `health --ready` and gRPC's health service."""

import contextlib
import json
import os
import socket
import subprocess

import grpc
import pytest
from conftest import PATIENCE, wait_for
from database import flip_a_bit
from grpc_health.v1 import health_pb2, health_pb2_grpc
from places import PLACES
from running_daemon import run_cli

UNITS = 1 << 20


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test mounts a file system"


def status(daemon, service="ready"):
    with daemon.channel() as channel:
        reply = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))
    return health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)


def told(daemon):
    """Returns (exit code of `health --ready`, the problem, gRPC's status of `ready`). All three are of the same
    state."""
    done = daemon.cli("--json", "health", "--ready", check=False)
    return done.returncode, json.loads(done.stdout)["problem"], status(daemon)


def await_ready(daemon):
    wait_for(lambda: told(daemon) == (0, "", "SERVING"), "the daemon to be ready")


def await_problem(daemon, words):
    def is_told():
        code, problem, ready = told(daemon)
        return (code, ready) == (1, "NOT_SERVING") and words in problem

    wait_for(is_told, f"a problem with {words!r}")
    assert daemon.cli("health").returncode == 0
    assert status(daemon, "") == "SERVING"


def test_health_waits_for_a_daemon_that_starts_later(make_daemon):
    daemon = make_daemon()
    assert run_cli("--socket", daemon.socket, "health", "--wait", "10ms", check=False).returncode == 3
    with subprocess.Popen([PLACES.cli, "--socket", daemon.socket, "health", "--ready", "--wait", "1h"]) as waiting:
        daemon.start()
        assert waiting.wait(PATIENCE) == 0


def test_a_daemon_without_a_toolchain_is_not_ready(make_daemon, directory):
    empty = directory / "empty"
    empty.mkdir()
    daemon = make_daemon(roots=(str(empty),)).start()
    await_problem(daemon, "no toolchain")


def test_a_daemon_with_a_replaced_socket_for_containers_is_not_ready(make_daemon, directory):
    """Root in a container may write to the directory, and so can replace the socket. The daemon refuses connections that
    the replacement passes on."""
    place = directory / "containers"
    daemon = make_daemon("--container-socket", str(place / "socket")).start()
    (place / "socket").rename(place / "moved")
    with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as relay:
        own.bind(str(place / "socket"))
        relay.connect(str(place / "moved"))
        relay.settimeout(PATIENCE)
        with contextlib.suppress(ConnectionResetError):
            assert relay.recv(1) == b""
    await_problem(daemon, "mount the directory read-only (:ro)")
    wait_for(lambda: f"error socket: its socket for containers is not at {place}/socket" in daemon.log_text(), "a line in the log")
    with pytest.raises(ConnectionRefusedError), socket.socket(socket.AF_UNIX) as again:
        again.connect(str(place / "moved"))


@pytest.fixture
def small_disk(directory):
    place = directory / "d"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={64 * UNITS},mode=755", "none", place], check=True)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_daemon_with_a_full_disk_is_not_ready_until_there_is_room(small_disk, make_daemon):
    daemon = make_daemon(name=small_disk.name).start()
    await_ready(daemon)
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        with pytest.raises(OSError):
            while True:
                file.write(bytes(UNITS))
    build = "// {}\n//fake: output-size 4M\n".format
    for number in range(10):  # more than the database has allocated ahead
        assert daemon.build_json(build(number))["outcome"] == "built"
    await_problem(daemon, "can't be written")
    assert daemon.build_json(build(9))["outcome"] == "hit"  # from memory
    checks = json.loads(daemon.cli("--json", "doctor", check=False).stdout)["checks"]
    assert [each["name"] for each in checks if each["verdict"] == "failure"] == ["daemon", "store"]
    filler.unlink()
    await_ready(daemon)
    daemon.stop()


def test_a_damaged_entry_is_reported_as_a_problem(fake):
    key = fake.build_json("//fake: output-size 20000\n")["key"]
    assert fake.stop() == 0
    flip_a_bit(fake, key)
    fake.start()
    await_ready(fake)
    assert fake.build_json("//fake: output-size 20000\n")["outcome"] == "built"
    await_problem(fake, "damaged")
