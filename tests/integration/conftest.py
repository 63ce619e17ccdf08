# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon of its own for each test: real binaries, real sockets, real databases, in a temporary directory."""

import os
import pathlib

# Tests take from here what the modules beside it define.
from daemon_fixtures import directory, fake, lasting, make_daemon, real, toolkit  # noqa: F401
from fake_toolkit import FakeToolkit  # noqa: F401
from patience import PATIENCE, wait_for  # noqa: F401
from places import PLACES  # noqa: F401
from running_daemon import Daemon, run_cli  # noqa: F401

from cccl_cache.v1 import admin_pb2, admin_pb2_grpc, build_pb2, build_pb2_grpc  # noqa: E402,F401


def files_view():
    """What paths mean to this thread."""
    root = os.open("/", os.O_PATH)
    try:
        status = os.fstat(root)
        told = dict(line.split(":") for line in pathlib.Path(f"/proc/thread-self/fdinfo/{root}").read_text().splitlines())
    finally:
        os.close(root)
    return build_pb2.FilesView(
        mount_namespace=os.stat("/proc/thread-self/ns/mnt").st_ino,
        root_device=os.major(status.st_dev) << 32 | os.minor(status.st_dev), root_inode=status.st_ino,
        root_mount=int(told["mnt_id"]))


def nvrtc_request(source, *options, arch="sm_90", name="kernel.cu", headers=(), **fields):
    """A BuildRequest for stock gRPC clients."""
    program = build_pb2.NvrtcProgram(
        source=build_pb2.Blob(inline_bytes=source.encode() if isinstance(source, str) else source), name=name,
        options=[f"-arch={arch}", *options],
    )
    for header, text in headers:
        program.headers.add(name=header, contents=build_pb2.Blob(inline_bytes=text.encode()))
    return build_pb2.BuildRequest(nvrtc=program, files_view=files_view(), **fields)
