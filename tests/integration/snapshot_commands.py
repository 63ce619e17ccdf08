# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Builds of numbered programs, and `cccl-cache-cli snapshot`, for tests of snapshots. The tests run as root, so that
they can become any user."""

import json
import os

import pytest

ALICE, BOB = 54321, 54322


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"


@pytest.fixture
def shared(make_daemon, toolkit):
    """A daemon with a socket for all users."""
    return make_daemon("--socket-mode", "0666", roots=(toolkit.root,)).start()


@pytest.fixture
def place(directory):
    """A directory that all users may write to."""
    made = directory / "files"
    made.mkdir()
    made.chmod(0o777)
    return made


def kernel(number):
    return f"// program {number}\n//fake: output-size 20000\n"


def build(daemon, number, arch="sm_90", user=None):
    return daemon.build_json(kernel(number), cwd="/", arch=arch, user=user)


def snapshot(daemon, *arguments, check=True, user=None):
    done = daemon.cli("--json", "snapshot", *map(str, arguments), check=check, user=user, cwd="/")
    return json.loads(done.stdout) if done.returncode == 0 else done


def keys(daemon, file):
    return [record["key"] for record in snapshot(daemon, "list", file)["records"]]
