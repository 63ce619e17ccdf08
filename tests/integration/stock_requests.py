# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Requests for stock gRPC clients."""

import ctypes
import os
import socket
import struct

from places import PLACES  # noqa: F401

from cccl_cache.v1 import build_pb2  # noqa: E402

STATX_MNT_ID, STATX_MNT_ID_UNIQUE = 0x1000, 0x4000
STX_MNT_ID_OFFSET = 144
RIGHTS_DESCRIPTOR, RIGHTS_LINK = 64, "/memfd:cccl-cached:"


def root_mount():
    """Returns the mount of "/" as in proto/request.h: a number that is never reused, if the kernel has such numbers."""
    answer = ctypes.create_string_buffer(256)
    at_cwd = -100
    failed = ctypes.CDLL(None).statx(at_cwd, b"/", 0, STATX_MNT_ID | STATX_MNT_ID_UNIQUE, answer)
    assert failed == 0, "statx"
    mask, = struct.unpack_from("<I", answer)
    number, = struct.unpack_from("<Q", answer, STX_MNT_ID_OFFSET)
    return number if mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE) else 0


def files_view():
    """Returns the view of files of this thread."""
    status = os.stat("/")
    return build_pb2.FilesView(
        mount_namespace=os.stat("/proc/thread-self/ns/mnt").st_ino,
        root_device=os.major(status.st_dev) << 32 | os.minor(status.st_dev), root_inode=status.st_ino,
        root_mount=root_mount())


def listener_of(path):
    """Returns the pid of the listening process, or 0 if this process can't see it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        return struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def rights_of(pid):
    """Returns the metadata with which a client proves that it has the rights of the daemon with this pid. Empty if the
    kernel does not show the daemon's secret to this process."""
    try:
        link = os.readlink(f"/proc/{pid}/fd/{RIGHTS_DESCRIPTOR}")
    except OSError:
        return []
    assert link.startswith(RIGHTS_LINK), link
    return [("cccl-rights", link.removeprefix(RIGHTS_LINK).removesuffix(" (deleted)"))]


def nvrtc_request(source, *options, arch="sm_90", name="kernel.cu", headers=(), **fields):
    """Returns a BuildRequest for stock gRPC clients."""
    program = build_pb2.NvrtcProgram(
        source=build_pb2.Blob(inline_bytes=source.encode() if isinstance(source, str) else source), name=name,
        options=[f"-arch={arch}", *options],
    )
    for header, text in headers:
        program.headers.add(name=header, contents=build_pb2.Blob(inline_bytes=text.encode()))
    return build_pb2.BuildRequest(nvrtc=program, files_view=files_view(), **fields)
