# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fake CUDA, with controls for tests."""

import ctypes
import mmap
import pathlib
import platform
import shutil
import struct

from patience import wait_for


class FakeToolkit:
    """A private copy of a fake CUDA with gates and counters (tests/support/fake_toolchain/control.h)."""

    COUNTERS = ("loads", "nvrtc_compiles", "links", "nvvm_compiles")
    GATES = 256
    FIRST_GATE = 4 * len(COUNTERS)
    SIZE = FIRST_GATE + 8 * GATES
    FUTEX_CALL, FUTEX_WAKE = {"x86_64": 202, "aarch64": 98}[platform.machine()], 1

    def __init__(self, source, root):
        shutil.copytree(source, root)
        self.root = str(root)
        control = pathlib.Path(root, "control")
        control.write_bytes(bytes(self.SIZE))
        with open(control, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), self.SIZE)

    def count(self, counter):
        return struct.unpack_from("<I", self.memory, 4 * self.COUNTERS.index(counter))[0]

    def _gate(self, name):
        value = 2166136261
        for byte in name.encode():
            value = (value ^ byte) * 16777619 & 0xFFFFFFFF
        return self.FIRST_GATE + 8 * (value % self.GATES)

    def open(self, gate):
        """Opens the gate for all compiles, now and later."""
        place = self._gate(gate)
        struct.pack_into("<I", self.memory, place, 1)
        word = ctypes.c_uint32.from_buffer(self.memory, place)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(self.FUTEX_CALL, ctypes.byref(word), self.FUTEX_WAKE, 0x7FFFFFFF, None, None, 0)
        del word

    def close(self, gate):
        """Closes the gate: later compiles wait at it."""
        struct.pack_into("<I", self.memory, self._gate(gate), 0)

    def arrivals(self, gate):
        """Returns the number of compiles that have reached the gate."""
        return struct.unpack_from("<I", self.memory, self._gate(gate) + 4)[0]

    def await_arrivals(self, gate, count):
        wait_for(lambda: self.arrivals(gate) >= count, f"{count} compiles at {gate}")
