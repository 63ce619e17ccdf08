# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Two uids on one socket, told apart. The tests run as root: they can be anybody."""

import os
import pathlib
import subprocess

import pytest
from conftest import PLACES, run_cli

ALICE, BOB = 54321, 54322
HEADER_FROM_OUTSIDE = '#include "local.h"\nextern "C" __global__ void k() {}\n'


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"


@pytest.fixture
def shared(make_daemon, toolkit, directory):
    """A daemon whose socket everybody may use."""
    return make_daemon("--socket-mode", "0666", roots=(toolkit.root,)).start()


def test_two_users_share_what_was_compiled_from_equal_inputs(shared, directory):
    kernel = 'extern "C" __global__ void k() {}\n'
    first = shared.build_json(kernel, cwd="/", user=ALICE)
    second = shared.build_json(kernel, cwd="/", user=BOB)
    assert first["outcome"] == "built"
    assert second["outcome"] == "hit"
    assert second["artifacts"] == first["artifacts"]


def test_two_users_are_told_apart(shared, directory):
    """The same request: the daemon's own uid gets its header from the disk, another uid doesn't."""
    place = directory / "src"
    place.mkdir(mode=0o755)
    (place / "local.h").write_text("// here\n")
    source = place / "k.cu"
    source.write_text(HEADER_FROM_OUTSIDE)
    arguments = ("--socket", shared.socket, "--json", "build", str(source), "--arch", "sm_90", "-o", os.devnull)
    own = run_cli(*arguments)
    assert b"uncacheable" in own.stdout
    other = run_cli(*arguments, user=ALICE, check=False)
    assert other.returncode == 4
    assert str(place / "local.h").encode() in other.stderr


def test_for_another_uid_nothing_outside_the_toolchain_is_opened(shared, directory):
    fifo = directory / "fifo.h"  # whoever opens it waits for ever
    os.mkfifo(fifo, 0o666)
    done = run_cli(
        "--socket", shared.socket, "build", "-", "--arch", "sm_90", "-o", os.devnull, "--name", str(directory / "k.cu"),
        input='#include "fifo.h"\n', user=ALICE, check=False,
    )
    assert done.returncode == 4


def test_a_crash_quarantines_its_own_uid_only(shared):
    for user in (ALICE, ALICE, BOB):
        shared.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, input="//fake: crash\n", check=False, user=user,
                   cwd="/")
    assert shared.stats()["compiles_total"] == 2


def test_the_socket_of_a_users_own_daemon_is_closed_to_others(make_daemon, toolkit):
    daemon = make_daemon("--socket-mode", "0600", roots=(toolkit.root,)).start()
    done = run_cli("--socket", daemon.socket, "stats", user=ALICE, check=False)
    assert done.returncode == 4
    assert b"--socket-mode" in done.stderr  # the way out


def test_state_is_closed_to_others(shared):
    mode = pathlib.Path(shared.state).stat().st_mode & 0o777
    assert mode == 0o700
    listing = subprocess.run(["ls", shared.state], user=ALICE, capture_output=True)
    assert listing.returncode != 0


def test_a_daemon_of_an_ordinary_user_serves_that_user(make_daemon, directory):
    place = directory / "own"
    place.mkdir()
    os.chown(place, ALICE, ALICE)
    daemon = make_daemon(roots=(PLACES.fake13,), name="own", uid=ALICE)
    daemon.start()
    told = daemon.build_json('extern "C" __global__ void k() {}\n', user=ALICE)
    assert told["outcome"] == "built"
