# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes with Triton that obey the commands of a test. A stand-in for ptxas counts the compiles."""

import os
import pathlib

import triton
from asked_process import AskedProcess

PROGRAM = pathlib.Path(__file__).with_name("triton_program.py")
PTXAS = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
# Waits at a gate if there is one, and may fail.
ASSEMBLER = f"""#!/bin/sh
case "$*" in *--version*) exec {PTXAS} "$@" ;; esac
echo $$ >> "$ASSEMBLED"
[ -z "$GATE" ] || read _ < "$GATE"
[ -z "$FAILS" ] || {{ echo "it fails" >&2; exit 1; }}
exec {PTXAS} "$@"
"""


class Node:
    """The processes of one test. By default they share the test's Triton directory."""

    def __init__(self, directory, socket):
        self.directory = pathlib.Path(directory)
        self.socket = str(socket)
        self.cache = self.directory / "triton"
        self._assembled = self.directory / "assembled"
        self._processes = []
        assembler = self.directory / "ptxas"
        assembler.write_text(ASSEMBLER)
        assembler.chmod(0o755)
        self._assembler = str(assembler)

    def start(self, count=1, plugin=True, **environment):
        """Starts so many processes. Returns when they are ready."""
        manager = {"TRITON_CACHE_MANAGER": "cccl_cache.triton:CacheManager"} if plugin else {}
        base = {**os.environ, **manager, "CCCL_CACHE_SOCKET": self.socket, "TRITON_CACHE_DIR": str(self.cache),
                "TRITON_PTXAS_PATH": self._assembler, "TRITON_PTXAS_BLACKWELL_PATH": self._assembler,
                "ASSEMBLED": str(self._assembled), "HOME": str(self.directory)}
        started = [AskedProcess({**base, **environment}, PROGRAM) for _ in range(count)]
        self._processes += started
        for process in started:
            assert process.hear() == "ready"
        return started

    def gate(self):
        """Returns the path of a gate. Compiles of the processes with this gate wait at it."""
        path = self.directory / f"gate{len(self._processes)}"
        os.mkfifo(path)
        return str(path)

    def open_gate(self, path):
        """Opens the gate for one compile."""
        with open(path, "w") as gate:
            gate.write("\n")

    def assembled(self):
        """Returns the number of compiles."""
        return len(self._assembled.read_text().splitlines()) if self._assembled.exists() else 0

    def end(self):
        for process in self._processes:
            process.end()


def in_step(processes, kernels):
    """Has all processes compile each kernel at the same moment. Returns their results, kernel by kernel."""
    made = []
    for kernel in kernels:
        for process in processes:
            process.tell("compile", kernel)
        made.append([process.hear() for process in processes])
    return made
