# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon of its own for each test: real binaries, real sockets, real databases, in a temporary directory."""

import os

# Re-exports the fixtures of the other modules.
from daemon_fixtures import directory, fake, lasting, make_daemon, package, real, toolkit  # noqa: F401
from fake_toolkit import FakeToolkit  # noqa: F401
from patience import PATIENCE, wait_for  # noqa: F401
from places import PLACES  # noqa: F401
from running_daemon import Daemon, run_cli  # noqa: F401
from stock_requests import files_view, nvrtc_request, root_mount  # noqa: F401

from cccl_cache.v1 import admin_pb2, admin_pb2_grpc, build_pb2, build_pb2_grpc  # noqa: E402,F401


# On Debian, the PATH of an ordinary user lacks the directories of root's programs.
if "CCCL_CACHED_TEST_PATH_OF_A_USER" in os.environ:
    os.environ["PATH"] = ":".join(each for each in os.environ["PATH"].split(":") if not each.endswith("sbin"))
