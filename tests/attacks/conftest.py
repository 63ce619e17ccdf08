# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks of other users on a real daemon, over its socket. The tests run as root, so that they can become any user."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

from daemon_fixtures import directory, make_daemon, toolkit  # noqa: E402,F401
from places import PLACES  # noqa: E402

from bystander import Bystander  # noqa: E402


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"


@pytest.fixture
def shared(make_daemon):  # noqa: F811
    """A daemon over the fake CUDA 13 with a socket for all users."""
    return make_daemon("--socket-mode", "0666", roots=(PLACES.fake13,)).start()


@pytest.fixture
def container_socket(directory):  # noqa: F811
    return str(directory / "containers" / "socket")


@pytest.fixture
def start_with_containers(make_daemon, container_socket):  # noqa: F811
    """Starts a daemon with this bound of connections, and half of it for each user and for all containers together."""
    def start(connections, **keywords):
        return make_daemon(
            "--socket-mode", "0666", "--container-socket", container_socket, "--connection-limit", str(connections),
            "--connection-limit-per-uid", str(connections // 2), **keywords).start()
    return start


@pytest.fixture
def bystander(shared):
    """Another user of `shared`, who requests hits until the test ends."""
    with Bystander(shared) as other:
        yield other
