# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon that starts on a full disk or over damaged state still serves builds."""

import os
import pathlib

import pytest
from lease_client import LeaseClient
from patience import wait_for
from places import PLACES
from snapshot_commands import BOB, as_root, place, snapshot  # noqa: F401

KERNEL = 'extern "C" __global__ void k() {}\n'


def is_denied_a_lease(daemon, value):
    told = LeaseClient(daemon, value).hear()
    assert not told.startswith("lease "), told
    return "no leases are granted" in told


@pytest.fixture
def started_before(make_daemon, place):  # noqa: F811
    """A stopped daemon that has built and kept an entry, and a program that BOB has inserted for himself."""
    other = make_daemon("--socket-mode", "0666", roots=(PLACES.fake13,), name="other").start()
    inserted, file = KERNEL + "// inserted\n", place / "a.snap"
    other.build_json(inserted, cwd="/", user=BOB)
    snapshot(other, "create", file, user=BOB)
    assert other.stop() == 0
    daemon = make_daemon("--socket-mode", "0666", roots=(PLACES.fake13,)).start()
    daemon.build_json(KERNEL)
    snapshot(daemon, "insert", file, user=BOB)
    assert daemon.stop() == 0
    return daemon, inserted


def start_on_a_full_disk(daemon):
    """Starts the daemon. Its state is on a small disk that another file fills."""
    script = """
        set -e
        mount -t tmpfs -o size=64m,mode=0700 tmpfs "$1/disk"
        cp -a "$1/state" "$1/disk/"
        echo old > "$1/disk/output"
        dd if=/dev/zero of="$1/disk/ballast" bs=1M 2>/dev/null || true
        dd if=/dev/zero of="$1/disk/ballast2" bs=1 2>/dev/null || true
        mount --bind "$1/disk/state" "$1/state"
        shift
        exec "$@"
    """
    (daemon.directory / "disk").mkdir()
    daemon.launcher = ["unshare", "--mount", "sh", "-c", script, "sh", str(daemon.directory)]
    daemon.start()


def test_a_daemon_that_starts_on_a_full_disk_builds_and_uses_the_disk_once_it_has_space(started_before):
    assert os.geteuid() == 0, "run as root (scripts/test does): the test mounts a small disk"
    daemon, inserted = started_before
    start_on_a_full_disk(daemon)
    assert daemon.build_json(KERNEL)["outcome"] == "built"
    assert daemon.build_json(KERNEL)["outcome"] == "hit"
    assert is_denied_a_lease(daemon, "v")
    daemon.await_log("no leases are granted")
    for command in (("evict", "--all", "--yes"), ("verify",)):
        done = daemon.cli(*command, check=False)
        assert done.returncode != 0 and "is full: make room" in str(done.stderr), done.stderr
    seen_by_it = pathlib.Path(f"/proc/{daemon.process.pid}/root{daemon.directory}/disk")
    output = seen_by_it / "output"
    assert daemon.cli("build", "-", "--arch", "sm_90", "-o", str(output), input=KERNEL, check=False).returncode == 5
    assert output.read_text() == "old\n"
    for ballast in seen_by_it.glob("ballast*"):
        ballast.unlink()
    wait_for(lambda: "can be written again" in daemon.log_text(), "the disk to be used")
    wait_for(lambda: daemon.cli("health", "--ready", check=False).returncode == 0, "the daemon to be ready")
    assert LeaseClient(daemon, "v").hear().startswith("lease ")
    assert daemon.build_json(KERNEL + "// another\n")["outcome"] == "built"
    assert daemon.build_json(inserted, cwd="/", user=BOB)["outcome"] == "hit"
    assert daemon.stop() == 0


def test_a_daemon_with_a_damaged_count_of_runs_builds_but_grants_no_leases(started_before):
    daemon, _ = started_before
    runs = pathlib.Path(daemon.state) / "runs"
    runs.write_text("garbage")
    daemon.start()
    assert daemon.build_json(KERNEL)["outcome"] == "hit"
    assert is_denied_a_lease(daemon, "v")
    daemon.await_log(f"{runs} holds no number")
    assert daemon.stop() == 0
    runs.unlink()
    daemon.start()
    assert LeaseClient(daemon, "v").hear().startswith("lease ")
