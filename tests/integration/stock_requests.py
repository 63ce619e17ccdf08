# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Requests for stock gRPC clients."""

import ctypes
import os
import struct

from places import PLACES  # noqa: F401

from cccl_cache.v1 import build_pb2  # noqa: E402

STATX_MNT_ID, STATX_MNT_ID_UNIQUE = 0x1000, 0x4000
STX_MNT_ID_OFFSET = 144


def root_mount():
    """As proto/request.h has it: that of "/", as a number that is never given again where the kernel has one."""
    answer = ctypes.create_string_buffer(256)
    at_cwd = -100
    failed = ctypes.CDLL(None).statx(at_cwd, b"/", 0, STATX_MNT_ID | STATX_MNT_ID_UNIQUE, answer)
    assert failed == 0, "statx"
    mask, = struct.unpack_from("<I", answer)
    number, = struct.unpack_from("<Q", answer, STX_MNT_ID_OFFSET)
    return number if mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE) else 0


def files_view():
    """What paths mean to this thread."""
    status = os.stat("/")
    return build_pb2.FilesView(
        mount_namespace=os.stat("/proc/thread-self/ns/mnt").st_ino,
        root_device=os.major(status.st_dev) << 32 | os.minor(status.st_dev), root_inode=status.st_ino,
        root_mount=root_mount())


def nvrtc_request(source, *options, arch="sm_90", name="kernel.cu", headers=(), **fields):
    """A BuildRequest for stock gRPC clients."""
    program = build_pb2.NvrtcProgram(
        source=build_pb2.Blob(inline_bytes=source.encode() if isinstance(source, str) else source), name=name,
        options=[f"-arch={arch}", *options],
    )
    for header, text in headers:
        program.headers.add(name=header, contents=build_pb2.Blob(inline_bytes=text.encode()))
    return build_pb2.BuildRequest(nvrtc=program, files_view=files_view(), **fields)
