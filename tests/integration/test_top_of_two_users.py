# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The part of `cccl-cache-cli top` that one user sees of another. The tests run as root, so that they can become any
user."""

import contextlib
import json
import os
import subprocess

import pytest
from conftest import PATIENCE, PLACES, wait_for
from lease_client import LeaseClient, deposit

ALICE, BOB = 54321, 54322
SHARED = "//fake: wait-for gate\n"


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"


@pytest.fixture
def shared(make_daemon, toolkit):
    """A daemon with one slot and a socket for all users."""
    return make_daemon("--socket-mode", "0666", "--jobs", "1", roots=(toolkit.root,)).start()


def seen_by(daemon, user):
    return json.loads(daemon.cli("--json", "top", cwd="/", user=user).stdout)


@contextlib.contextmanager
def building(daemon, toolkit, *builds):
    """Starts callers for each (user, source, *options), which wait until the end of the block."""
    callers = []
    for user, source, *options in builds:
        callers.append(subprocess.Popen(
            [PLACES.cli, "--socket", daemon.socket, "build", "-", "--arch", "sm_90", "-o", "/dev/null", *options], user=user, cwd="/",
            stdin=subprocess.PIPE, env={"PATH": os.environ["PATH"]}, stderr=subprocess.DEVNULL))
        callers[-1].stdin.write(source.encode())
        callers[-1].stdin.close()
        wait_for(lambda: daemon.stats()["waiting"] == len(callers), "the caller")
    toolkit.await_arrivals("gate", 1)
    yield
    toolkit.open("gate")
    for caller in callers:
        assert caller.wait(PATIENCE) == 0


def test_a_user_sees_its_own_flights_and_an_administrator_everything(shared, toolkit):
    with building(shared, toolkit, (ALICE, SHARED), (BOB, SHARED), (ALICE, "// her own\n")):
        of_root, of_alice, of_bob = (seen_by(shared, user) for user in (0, ALICE, BOB))
    assert [(each["state"], each["waiters"], each["uid"]) for each in of_root["flights"]] == [
        ("running", 2, ALICE), ("queued", 1, ALICE)]
    assert of_root["users"] == [{"user": str(ALICE), "queued": 1, "running": 1}]
    assert [(each["state"], each["waiters"], each["uid"]) for each in of_alice["flights"]] == [
        ("running", 1, ALICE), ("queued", 1, ALICE)]
    assert [(each["state"], each["waiters"], each["uid"]) for each in of_bob["flights"]] == [("running", 1, BOB)]
    assert of_bob["users"] == []
    assert of_bob["waiting"] == 3 and of_bob["queued"] == 1  # totals


def test_the_name_of_a_program_is_shown_to_its_user_and_to_administrators(shared, toolkit):
    with building(shared, toolkit, (ALICE, SHARED, "--name", "/home/alice/hers.cu"), (BOB, "// his\n", "--name", "his.cu")):
        names = [[each["program"] for each in seen_by(shared, user)["flights"]] for user in (0, ALICE, BOB, 54323)]
    assert names == [["hers.cu", "his.cu"], ["hers.cu"], ["his.cu"], []]


def test_the_longest_compiles_are_those_of_the_user_who_asks(shared):
    for user, name in ((ALICE, "hers.cu"), (BOB, "his.cu")):
        shared.cli("build", "-", "--name", name, "--arch", "sm_90", "-o", "/dev/null", input=f"// {name}\n", cwd="/", user=user)
    pages = [shared.cli("stats", "--html", "-", cwd="/", user=user).stdout.decode() for user in (0, ALICE, BOB, 54323)]
    assert [("hers.cu" in page, "his.cu" in page) for page in pages] == [(True, True), (True, False), (False, True), (False, False)]


def test_a_user_sees_its_own_namespaces_and_an_administrator_all(shared):
    for user in (ALICE, BOB):
        deposit(shared, "a", "made", user=user)
    assert LeaseClient(shared, "a", user=BOB).hear() == "hit made"
    of_root, of_alice, of_bob, of_carol = (seen_by(shared, user)["namespaces"] for user in (0, ALICE, BOB, 54323))
    assert [(each["made"], each["hits"]) for [each] in (of_root, of_alice, of_bob)] == [(2, 1), (1, 0), (1, 1)]
    assert of_carol == []
    tables = [json.loads(shared.cli("--json", "stats", "--by", "namespace", cwd="/", user=user).stdout)["rows"]
              for user in (0, ALICE, 54323)]
    assert [[(row["made"], row["read_bytes"]) for row in table] for table in tables] == [[(2, 4)], [(1, 0)], []]


def test_the_text_of_an_error_is_shown_only_to_its_user(shared):
    shared.cli("build", "-", "--arch", "sm_90", "-o", "/dev/null", input="//fake: fail secret\n", cwd="/", user=ALICE, check=False)
    [of_alice] = seen_by(shared, ALICE)["failures"]
    [of_root] = seen_by(shared, 0)["failures"]
    assert seen_by(shared, BOB)["failures"] == []
    assert "secret" in of_alice["error"]
    assert "secret" not in of_root["error"] and of_root["error"] and of_root["uid"] == ALICE


def test_the_key_of_a_build_is_explained_to_its_waiters(shared, toolkit):
    with building(shared, toolkit, (ALICE, SHARED)):
        [flight] = seen_by(shared, ALICE)["flights"]
        verdicts = [json.loads(shared.cli("--json", "explain", flight["key"], cwd="/", user=user).stdout)["verdict"]
                    for user in (ALICE, BOB)]
    assert verdicts == ["never-seen", "unknown-key"]
