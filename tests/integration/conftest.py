# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon of its own for each test: real binaries, real sockets, real databases, in a temporary directory."""

import os
import pathlib
import tempfile

import pytest

# Tests take from here what the modules beside it define.
from fake_toolkit import FakeToolkit
from patience import PATIENCE, wait_for  # noqa: F401
from places import PLACES
from running_daemon import Daemon, run_cli  # noqa: F401

from cccl_cache.v1 import admin_pb2, admin_pb2_grpc, build_pb2, build_pb2_grpc  # noqa: E402,F401


def files_view():
    """What paths mean to this process."""
    root = os.stat("/")
    return build_pb2.FilesView(
        mount_namespace=os.stat("/proc/self/ns/mnt").st_ino, root_device=root.st_dev, root_inode=root.st_ino)


def nvrtc_request(source, *options, arch="sm_90", name="kernel.cu", headers=(), **fields):
    """A BuildRequest for stock gRPC clients."""
    program = build_pb2.NvrtcProgram(
        source=build_pb2.Blob(inline_bytes=source.encode() if isinstance(source, str) else source), name=name,
        options=[f"-arch={arch}", *options],
    )
    for header, text in headers:
        program.headers.add(name=header, contents=build_pb2.Blob(inline_bytes=text.encode()))
    return build_pb2.BuildRequest(nvrtc=program, files_view=files_view(), **fields)


@pytest.fixture
def directory():
    """A short path: a Unix socket's may be at most 107 bytes long. Owned by root or the caller, not writable by
    others."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


@pytest.fixture
def make_daemon(directory):
    """Makes daemons and ends them with the test."""
    made = []

    def make(*flags, roots=(PLACES.fake13,), name="d", **keywords):
        place = directory / name
        place.mkdir(exist_ok=True)
        daemon = Daemon(place, roots, *flags, **keywords)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()


@pytest.fixture
def toolkit(directory):
    """A fake CUDA 13 of the test's own."""
    return FakeToolkit(PLACES.fake13, directory / "cuda")


@pytest.fixture
def fake(make_daemon, toolkit):
    """A running daemon over the test's own fake toolchain."""
    return make_daemon(roots=(toolkit.root,)).start()


@pytest.fixture
def real(make_daemon):
    """A running daemon over CUDA 13."""
    return make_daemon(roots=(PLACES.cuda13,)).start()


@pytest.fixture(scope="module")
def lasting():
    """A running daemon over CUDA 13 for all tests of a file: each has a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        os.chmod(place, 0o755)
        daemon = Daemon(place, (PLACES.cuda13,)).start()
        yield daemon
        daemon.stop()
