# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The plug-ins against the packages that they serve, and against real daemons."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import pytest  # noqa: E402
from daemon_fixtures import directory, fake, lasting, lasting_daemon, make_daemon, real, toolkit  # noqa: E402,F401
from places import PLACES  # noqa: E402


@pytest.fixture(scope="module")
def node(request, tmp_path_factory):
    """The processes of a test file, of its class Node."""
    with lasting_daemon(PLACES.fake13) as daemon:
        node = request.module.Node(tmp_path_factory.mktemp("node"), daemon)
        yield node
        node.end()


@pytest.fixture(scope="module")
def four(node):
    return node.start(4)
