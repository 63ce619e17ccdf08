# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes with Triton that do what a test tells them; compiles are counted where ptxas runs."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import triton

PROGRAM = pathlib.Path(__file__).with_name("triton_program.py")
PTXAS = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
# Waits at a gate where there is one, and may fail.
ASSEMBLER = f"""#!/bin/sh
case "$*" in *--version*) exec {PTXAS} "$@" ;; esac
echo $$ >> "$ASSEMBLED"
[ -z "$GATE" ] || read _ < "$GATE"
[ -z "$FAILS" ] || {{ echo "it fails" >&2; exit 1; }}
exec {PTXAS} "$@"
"""


class Process:
    """One process, in a session of its own."""

    def __init__(self, environment):
        self.process = subprocess.Popen([sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment, start_new_session=True)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the process ended"
        return json.loads(line)

    def ask(self, *words):
        self.tell(*words)
        return self.hear()

    def signal(self, number):
        """To it and what it started."""
        os.killpg(self.process.pid, number)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Node:
    """The processes of one test. Each has Triton's directory of the test, unless it is told otherwise."""

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
        """Starts so many; returns when they are ready."""
        manager = {"TRITON_CACHE_MANAGER": "cccl_cache.triton:CacheManager"} if plugin else {}
        base = {**os.environ, **manager, "CCCL_CACHE_SOCKET": self.socket, "TRITON_CACHE_DIR": str(self.cache),
                "TRITON_PTXAS_PATH": self._assembler, "TRITON_PTXAS_BLACKWELL_PATH": self._assembler,
                "ASSEMBLED": str(self._assembled), "HOME": str(self.directory)}
        started = [Process({**base, **environment}) for _ in range(count)]
        self._processes += started
        for process in started:
            assert process.hear() == "ready"
        return started

    def gate(self):
        """The path of a gate, at which compiles of the processes that know it wait."""
        path = self.directory / f"gate{len(self._processes)}"
        os.mkfifo(path)
        return str(path)

    def open_gate(self, path):
        """Lets one compile through."""
        with open(path, "w") as gate:
            gate.write("\n")

    def assembled(self):
        """How many compiles ran."""
        return len(self._assembled.read_text().splitlines()) if self._assembled.exists() else 0

    def end(self):
        for process in self._processes:
            process.end()


def in_step(processes, kernels):
    """All compile each kernel at the same moment. Returns what they have, kernel by kernel."""
    made = []
    for kernel in kernels:
        for process in processes:
            process.tell("compile", kernel)
        made.append([process.hear() for process in processes])
    return made
