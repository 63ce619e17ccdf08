# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Toolchains whose changes the kernel does not report: on a network file system, which may also hang, and on a
machine where inotify is used up."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import PLACES, wait_for
from fuse_file import FuseFile
from watched_terminal import WatchedTerminal

KERNEL = 'extern "C" __global__ void k() {}\n'


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test mounts a file system"


@pytest.fixture
def remote(toolkit):
    """A directory of the toolkit's headers on a file system whose changes the kernel does not report."""
    place = pathlib.Path(toolkit.root, "include", "remote")
    place.mkdir()
    file = FuseFile(place, b"// one\n")
    yield file
    file.close()


def identity(daemon, *arguments):
    return daemon.build_json(KERNEL, *arguments)["toolchain"]["id"]


def test_a_change_on_a_remote_file_system_is_noticed(make_daemon, toolkit, remote):
    daemon = make_daemon(roots=(toolkit.root,)).start()
    before = identity(daemon)
    daemon.await_log("comparing all its files")
    remote.contents = b"// two\n"
    remote.since += 1
    wait_for(lambda: identity(daemon) != before, "the change's being noticed")


def test_a_person_who_starts_a_daemon_sees_what_it_waits_for(toolkit, remote, directory):
    remote.answering.clear()
    with WatchedTerminal(
            PLACES.cli, "run", "--start", "--", "true", HOME=str(directory), XDG_RUNTIME_DIR=str(directory),
            CCCL_CACHED_TOOLCHAIN_ROOT=toolkit.root, CCCL_CACHED_TOOLCHAIN_SEARCH="roots",
            CCCL_CACHED_IDLE_TIMEOUT="1s") as terminal:
        terminal.await_shown("it reads the CUDA toolchains", "the progress")
        remote.answering.set()
        assert terminal.await_end() == 0 and "started a daemon" in terminal.shown()


def test_builds_with_a_hanging_toolchain_are_refused_and_delay_no_others(make_daemon, toolkit, remote, directory):
    daemon = make_daemon(roots=(toolkit.root, PLACES.fake12)).start()
    other = ("--toolchain", "12")
    identity(daemon)
    identity(daemon, *other)
    remote.answering.clear()

    known, new = directory / "known.cu", directory / "new.cu"
    known.write_text(KERNEL)
    new.write_text(KERNEL + "// new\n")
    commands = (("build", known, "-o", os.devnull), ("build", new, "-o", os.devnull), ("explain", "--", "build", known))

    def refused():
        """Checks that a hit, a miss and `explain` are refused, and that all other builds are served meanwhile."""
        asked = [
            subprocess.Popen(
                [PLACES.cli, "--socket", daemon.socket, *command, "--arch", "sm_90"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/",
            )
            for command in commands
        ]
        assert daemon.build_json(KERNEL, *other)["outcome"] == "hit"
        told = [process.communicate(timeout=60)[0] for process in asked]
        return all(toolkit.root.encode() in each and b"does not answer" in each for each in told)

    wait_for(refused, "the toolchain's being said to hang")
    assert daemon.build_json(KERNEL + "// another\n", *other)["outcome"] == "built"
    remote.answering.set()
    wait_for(lambda: daemon.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, input=KERNEL, check=False).returncode
             == 0, "the toolchain's serving again")


def test_a_daemon_stops_while_its_toolchain_hangs(make_daemon, toolkit, remote):
    daemon = make_daemon(roots=(toolkit.root,)).start()
    identity(daemon)
    remote.answering.clear()
    reads = subprocess.Popen([PLACES.cli, "--socket", daemon.socket, "toolchains"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    assert daemon.stop() == 0
    reads.wait(60)


def test_changes_of_a_toolchain_are_noticed_without_inotify_watches(make_daemon, toolkit):
    without = ("unshare", "--user", "--map-root-user", "sh", "-c",
               'echo 0 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh")
    daemon = make_daemon(roots=(toolkit.root,), launcher=without).start()
    before = identity(daemon)
    daemon.await_log("fs.inotify.max_user_watches")
    assert json.loads(daemon.cli("--json", "build", "-", "--arch", "sm_90", "-o", os.devnull, input=KERNEL).stdout)[
        "outcome"] == "hit"
    header = pathlib.Path(toolkit.root, "include", "cuda_runtime.h")
    header.write_text(header.read_text() + "// patched\n")
    wait_for(lambda: identity(daemon) != before, "the change's being noticed")
