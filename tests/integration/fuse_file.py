# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A file system in this process that speaks to the kernel over /dev/fuse (linux/fuse.h). It has one directory with
one file. The contents of the file change while its size, times and numbers stay, and the file system can be made to
hang."""

import ctypes
import errno
import os
import struct
import threading

ROOT, FILE = 1, 2  # numbers of the nodes
NAME = "local.h"
MNT_DETACH = 2
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, INIT, OPENDIR, READDIR = 1, 2, 3, 14, 15, 17, 26, 27, 28
ASKED_FOR_NOTHING = (FORGET, 42)  # FORGET, BATCH_FORGET: the kernel waits for no answer
DONE = (18, 25, 29)  # RELEASE, FLUSH, RELEASEDIR
FOPEN_DIRECT_IO = 1
HEADER = struct.Struct("<IIQQIIII")  # length opcode unique node uid gid pid padding
LIBC = ctypes.CDLL(None, use_errno=True)


class FuseFile:
    """The file system, mounted over a directory until it is closed. Only root can mount it. Any thread may set
    `contents` to bytes of the same length; the length must stay because a file's size would show the change."""

    def __init__(self, directory, contents):
        self.directory = str(directory)
        self.contents = contents
        self.reads = 0
        self.since = 978307200  # all times of the file: the beginning of 2001
        self.answering = threading.Event()
        self.answering.set()
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"test", self.directory.encode(), b"fuse", 0, options) != 0:
            raise OSError(ctypes.get_errno(), f"mounting a file system at {directory}")
        self.server = threading.Thread(target=self.serve)
        self.server.start()

    def close(self):
        self.answering.set()
        LIBC.umount2(self.directory.encode(), MNT_DETACH)
        self.server.join()
        os.close(self.device)

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 17)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return  # unmounted
                continue
            _, opcode, unique, node, *_ = HEADER.unpack_from(request)
            if opcode in ASKED_FOR_NOTHING:
                continue
            self.answering.wait()
            code, answer = self.answer(opcode, node, request[HEADER.size:])
            os.write(self.device, struct.pack("<IiQ", 16 + len(answer), -code, unique) + answer)

    def answer(self, opcode, node, body):
        """Returns (error, the bytes after the head of an answer)."""
        if opcode == INIT:
            return 0, struct.pack("<IIIIHHIIHH32x", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0)
        if opcode == LOOKUP:
            if body.rstrip(b"\0").decode() != NAME:
                return errno.ENOENT, b""
            return 0, struct.pack("<QQQQII", FILE, 1, 0, 0, 0, 0) + self.attributes(FILE)
        if opcode == GETATTR:
            return 0, struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", 0, FOPEN_DIRECT_IO, 0)
        if opcode == READ:
            self.reads += 1
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, self.contents[offset:offset + size]
        if opcode == STATFS:
            return 0, struct.pack("<QQQQQIII28x", 1, 0, 0, 2, 0, 4096, 255, 4096)
        if opcode == READDIR:
            _, offset = struct.unpack_from("<QQ", body)
            return 0, struct.pack("<QQII8s", FILE, 1, len(NAME), 8, NAME.encode()) if offset == 0 else b""
        return (0 if opcode in DONE else errno.ENOSYS), b""

    def attributes(self, node):
        mode, size = (0o040755, 0) if node == ROOT else (0o100644, len(self.contents))
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 1, self.since, self.since, self.since, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
