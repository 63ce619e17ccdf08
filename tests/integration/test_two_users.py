# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon distinguishes two uids on one socket. The tests run as root, so that they can become any user."""

import grp
import itertools
import json
import os
import subprocess

import pytest
from conftest import PLACES, run_cli, wait_for

ALICE, BOB = 54321, 54322
HEADER_FROM_OUTSIDE = '#include "local.h"\nextern "C" __global__ void k() {}\n'


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"


@pytest.fixture
def shared(make_daemon, toolkit, directory):
    """A daemon with a socket for all users."""
    return make_daemon("--socket-mode", "0666", roots=(toolkit.root,)).start()


def test_the_state_of_the_daemon_is_closed_to_other_users(shared):
    assert os.stat(shared.state).st_mode & 0o777 == 0o700
    assert subprocess.run(["ls", shared.state], user=ALICE, capture_output=True).returncode != 0


def test_two_users_share_results_of_equal_inputs(shared, directory):
    kernel = 'extern "C" __global__ void k() {}\n'
    first = shared.build_json(kernel, cwd="/", user=ALICE)
    second = shared.build_json(kernel, cwd="/", user=BOB)
    assert first["outcome"] == "built"
    assert second["outcome"] == "hit"
    assert second["artifacts"] == first["artifacts"]


def build_beside_a_header(daemon, place, before=(), **keywords):
    """Builds k.cu in a directory with local.h. The daemon must find the header there by itself."""
    return run_cli(
        "--socket", daemon.socket, "--json", *before, "build", "-", "--name", str(place / "k.cu"), "--arch", "sm_90", "-o",
        os.devnull, input=HEADER_FROM_OUTSIDE, cwd="/", check=False, **keywords,
    )


def test_a_header_in_a_closed_home_is_used_only_for_a_user_who_may_read_it(shared, directory):
    """Two users send the same request. The daemon's own uid gets its header from the disk. The other uid does not,
    although the header was read already and the artifact is in the cache."""
    place = directory / "home"
    place.mkdir(mode=0o700)
    (place / "local.h").write_text("// here\n")
    assert json.loads(build_beside_a_header(shared, place).stdout)["outcome"] == "built"
    assert json.loads(build_beside_a_header(shared, place).stdout)["outcome"] == "hit"
    # An explanation asks for no file.
    assert json.loads(build_beside_a_header(shared, place, before=("explain", "--")).stdout)["verdict"] == "hit"
    other = build_beside_a_header(shared, place, user=ALICE)
    assert other.returncode == 4
    assert f"{place / 'local.h'}: Permission denied".encode() in other.stderr


def test_a_closed_file_in_an_open_directory_serves_only_its_owner(shared, directory):
    place = directory / "src"
    place.mkdir(mode=0o755)
    header = place / "local.h"
    header.write_text("// here\n")
    header.chmod(0o600)
    assert json.loads(build_beside_a_header(shared, place).stdout)["outcome"] == "built"
    other = build_beside_a_header(shared, place, user=ALICE)
    assert other.returncode == 4
    assert str(header).encode() in other.stderr


def test_two_users_share_results_of_headers_that_both_may_read(shared, directory):
    """Each user has its own checkout."""
    outcomes = []
    for user in (ALICE, BOB):
        place = directory / str(user)
        place.mkdir(mode=0o755)
        (place / "local.h").write_text("// the same\n")
        for path in (place, place / "local.h"):
            os.chown(path, user, user)
        outcomes.append(json.loads(build_beside_a_header(shared, place, user=user).stdout)["outcome"])
    assert outcomes == ["built", "hit"]


def test_a_program_without_headers_is_built_from_below_a_closed_home(shared, directory):
    """The compiler asks for its working directory at each compile."""
    place = directory / "home" / "project"
    place.mkdir(parents=True)
    place.parent.chmod(0o700)
    for path in (place.parent, place):
        os.chown(path, ALICE, ALICE)
    text = "//fake: stat .\n"
    done = run_cli("--socket", shared.socket, "build", "-", "--arch", "sm_90", "-o", os.devnull, input=text, user=ALICE,
                   cwd=place, check=False)
    assert done.returncode == 0, done.stderr


def test_a_fifo_of_another_uid_is_not_opened(shared, directory):
    """A process that opens the FIFO waits for ever."""
    os.mkfifo(directory / "local.h", 0o666)
    (directory / "local.h").chmod(0o666)
    done = build_beside_a_header(shared, directory, user=ALICE)
    assert done.returncode == 4
    assert b"is no regular file but a FIFO" in done.stderr


def test_a_crash_quarantines_a_build_only_for_its_user(shared):
    for user in (ALICE, ALICE, BOB):
        shared.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, input="//fake: crash\n", check=False, user=user,
                   cwd="/")
    assert shared.stats()["compiles_total"] == 2


def test_the_socket_of_a_users_own_daemon_is_closed_to_others(make_daemon, toolkit):
    daemon = make_daemon("--socket-mode", "0600", roots=(toolkit.root,)).start()
    done = run_cli("--socket", daemon.socket, "stats", user=ALICE, check=False)
    assert done.returncode == 4
    assert b"--socket-mode" in done.stderr  # the message names the remedy
    assert b"group" not in done.stderr.replace(b"--socket-group", b"")


def test_the_error_of_a_closed_socket_names_the_group_with_access(make_daemon, toolkit):
    daemon = make_daemon("--socket-mode", "0660", "--socket-group", "daemon", roots=(toolkit.root,)).start()
    done = run_cli("--socket", daemon.socket, "stats", user=ALICE, check=False)
    assert done.returncode == 4
    assert f"ask to be added to group {grp.getgrnam('daemon').gr_gid}".encode() in done.stderr


def test_a_user_sees_only_own_totals_and_administrators_all(shared):
    for user in (ALICE, ALICE, BOB):
        shared.build_json('extern "C" __global__ void k() {}\n', cwd="/", user=user)

    def rows(user):
        told = json.loads(shared.cli("--json", "stats", "--by", "user", user=user, cwd="/").stdout)
        return {row["user"]: (row["compiled"], row["hits"]) for row in told["rows"]}

    assert rows(ALICE) == {str(ALICE): (1, 1)}
    assert rows(BOB) == {str(BOB): (0, 1)}
    assert rows(None) == {str(ALICE): (1, 1), str(BOB): (0, 1)}


def test_only_administrators_set_totals_to_zero(shared):
    shared.build_json('extern "C" __global__ void k() {}\n', cwd="/", user=ALICE)
    refused = shared.cli("stats", "--zero", user=ALICE, cwd="/", check=False)
    assert refused.returncode == 4
    assert b"--admin-group" in refused.stderr  # the message names the remedy
    assert shared.stats()["builds_total"] == 1
    shared.cli("stats", "--zero")
    assert shared.stats()["builds_total"] == 0
    assert shared.stop() == 0
    shared.start()
    assert shared.stats()["builds_total"] == 0  # the counter did not change


def test_a_daemon_of_an_ordinary_user_serves_that_user(make_daemon, directory):
    place = directory / "own"
    place.mkdir()
    os.chown(place, ALICE, ALICE)
    daemon = make_daemon(roots=(PLACES.fake13,), name="own", uid=ALICE)
    daemon.start()
    told = daemon.build_json('extern "C" __global__ void k() {}\n', user=ALICE)
    assert told["outcome"] == "built"


def test_a_user_learns_nothing_of_other_users_builds(shared):
    kernel = 'extern "C" __global__ void k() {}\n'

    def explain(*words, user=None):
        done = run_cli("--socket", shared.socket, "--json", "explain", *words, input=kernel, cwd="/", user=user)
        return json.loads(done.stdout)

    built = shared.build_json(kernel, cwd="/", user=ALICE)
    assert explain(built["key"], user=ALICE)["verdict"] == "never-seen"
    assert explain(built["key"], user=BOB)["verdict"] == "unknown-key"
    another = ["--", "build", "-", "--arch", "sm_80"]
    assert explain(*another, user=ALICE)["nearest"]["key"] == built["key"]
    other = explain(*another, user=BOB)
    assert other["verdict"] == "never-seen"
    assert other["nearest"] == {} and other["differences"] == []


def test_no_preamble_of_the_overflow_user_is_kept(make_daemon):
    """Each user without a uid in the daemon's namespace has the overflow uid, so that uid may be any user."""
    daemon = make_daemon("--pch-memory-limit", "4GiB", "--socket-mode", "0666", roots=(PLACES.cuda13,)).start()

    def build(header, value, user):
        kernel = f'#include <{header}>\nextern "C" __global__ void k(float* p) {{ p[0] = {value}.0f; }}\n'
        daemon.build_json(kernel, user=user, cwd="/")

    for value in "12":
        build("cuda_fp16.h", value, 65534)
    values = itertools.count()

    def another_user_has_one():
        build("cuda_bf16.h", next(values), 65533)
        return daemon.stats()["pch_builds_total"] > 0

    # Preambles are made one after the other, in the order of their requests.
    wait_for(another_user_has_one, "the other user's preamble")
    assert daemon.stats()["preambles_total"] == 1
