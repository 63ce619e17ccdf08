# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the source files that a hit and a miss pass through, by a breakpoint on each function of a daemon and a client.

A breakpoint is removed when it is reached, so a traced build takes hardly longer than others. Functions that the compiler
inlined are not found. For Linux on x86-64, and for root. Needs a toolchain that the daemon finds by itself.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import tempfile
import time

PTRACE_TRACEME, PTRACE_PEEKUSER, PTRACE_POKEUSER, PTRACE_CONT, PTRACE_SETOPTIONS, PTRACE_SEIZE = 0, 3, 6, 7, 0x4200, 0x4206
THREADS_TOO = 8  # PTRACE_O_TRACECLONE
PROGRAM_COUNTER = 16 * 8  # in struct user
WITH_THREADS = 0x40000000  # __WALL
INT3 = b"\xcc"
FUNCTION = re.compile(r"([0-9a-f]{16}) [tTwW] (main|_ZNK?10cccl_cache.*|_ZZNK?10cccl_cache.*|cccl_cache_.*)")
PATIENCE = 60  # seconds until the daemon has its socket
# Names of threads that no caller waits for.
BACKGROUND = {"housekeeping", "toolchains", "toolchain scan", "accounts", "log", "store writer", "idle jobs"}
PROGRAM = '#include <cuda/std/cstdint>\nextern "C" __global__ void kernel%d(cuda::std::int32_t* x) { *x = 3; }\n'

ptrace = ctypes.CDLL(None).ptrace
ptrace.restype = ctypes.c_long
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Image:
    """A program or library, with the offsets of its functions from its beginning in memory."""

    def __init__(self, path):
        self.path = path.resolve()
        table = subprocess.run(["nm", "--defined-only", self.path], stdout=subprocess.PIPE, text=True, check=True).stdout
        found = list(filter(None, map(FUNCTION.match, table.splitlines())))
        self.functions = {int(match.group(1), 16) for match in found}
        self.main = next((int(match.group(1), 16) for match in found if match.group(2) == "main"), None)

    def pairs(self, functions, root):
        """Returns the pairs of header and source that define these functions."""
        told = subprocess.run(["addr2line", "-e", self.path], input="\n".join(map(hex, sorted(functions))),
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        files = {pathlib.Path(os.path.normpath(line.rpartition(":")[0])) for line in told.splitlines()}
        return {file.relative_to(root).with_suffix("") for file in files
                if file.is_relative_to(root) and not file.is_relative_to(root / "build")}


class Traced:
    """A stopped or running process whose threads are traced by this thread."""

    def __init__(self, pid):
        self.pid = pid
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self.hidden = {}  # address of a breakpoint -> the byte that it hides
        self.reached = set()

    def beginning(self, image):
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines()
        return min(int(line.partition("-")[0], 16) for line in maps if line.endswith(f" {image.path}"))

    def break_at(self, addresses):
        for address in addresses:
            self.hidden[address] = os.pread(self.memory, 1, address)
            os.pwrite(self.memory, INT3, address)

    def clear(self):
        for address, byte in self.hidden.items():
            os.pwrite(self.memory, byte, address)
        self.reached = set()

    def passes_breakpoint(self, thread):
        """Removes the breakpoint at which the thread stopped, and returns its address. None if the thread stopped for another
        reason."""
        address = ptrace(PTRACE_PEEKUSER, thread, PROGRAM_COUNTER, None) - 1
        if address not in self.hidden:
            return None
        os.pwrite(self.memory, self.hidden[address], address)
        ptrace(PTRACE_POKEUSER, thread, PROGRAM_COUNTER, address)
        if pathlib.Path(f"/proc/{self.pid}/task/{thread}/comm").read_text().strip() not in BACKGROUND:
            self.reached.add(address)
        return address


class Tracer:
    def __init__(self, build, root):
        self.root = root
        self.cli, self.library = Image(build / "cli/cccl-cache-cli"), Image(build / "client/libcccl_cache.so.1")
        self.program = Image(build / "daemon/cccl-cached")
        self.place = tempfile.TemporaryDirectory()
        self.socket = f"{self.place.name}/run/socket"
        log = open(f"{self.place.name}/log", "wb")
        self.process = subprocess.Popen([self.program.path, "--socket", self.socket, "--state-dir", f"{self.place.name}/state"],
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self):
        """Waits for the daemon, and traces it after its first build."""
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the daemon did not start: {pathlib.Path(self.place.name, 'log').read_text()}")
            time.sleep(0.05)
        self.build(0)
        self.daemon = Traced(self.process.pid)
        for thread in map(int, os.listdir(f"/proc/{self.process.pid}/task")):
            ptrace(PTRACE_SEIZE, thread, None, THREADS_TOO)

    def close(self):
        self.process.kill()
        while self.process.returncode is None and os.waitpid(-1, WITH_THREADS)[0] != self.process.pid:
            pass  # a thread
        self.place.cleanup()

    def command(self, number):
        source = pathlib.Path(self.place.name, f"{number}.cu")
        source.write_text(PROGRAM % number)
        return [self.cli.path, "--socket", self.socket, "build", source, "--arch", "sm_90", "-o", os.devnull]

    def build(self, number):
        subprocess.run(self.command(number), stdout=subprocess.DEVNULL, check=True)

    def traced_build(self, number):
        """Returns the pairs that this build passes through in the daemon, and those in the client."""
        command = self.command(number)
        pid = os.fork()
        if pid == 0:
            ptrace(PTRACE_TRACEME, 0, None, None)
            os.execv(command[0], command)
        os.waitpid(pid, 0)
        client = Traced(pid)
        client.break_at([client.beginning(self.cli) + self.cli.main])
        start = self.daemon.beginning(self.program)
        self.daemon.break_at([start + function for function in self.program.functions])
        ptrace(PTRACE_SETOPTIONS, pid, None, THREADS_TOO)
        ptrace(PTRACE_CONT, pid, None, None)
        library = self.run_client(client)
        in_daemon = self.program.pairs({address - start for address in self.daemon.reached}, self.root)
        in_client = self.library.pairs({address - library for address in client.reached if address >= library}, self.root)
        self.daemon.clear()
        return in_daemon, in_client

    def run_client(self, client):
        """Serves both processes until the client ends. Returns where the library began."""
        library = 0
        while True:
            thread, status = os.waitpid(-1, WITH_THREADS)
            if thread == client.pid and not os.WIFSTOPPED(status):
                if status != 0:
                    raise SystemExit(f"the build failed: {pathlib.Path(self.place.name, 'log').read_text()}")
                return library
            if not os.WIFSTOPPED(status):
                continue
            number = os.WSTOPSIG(status)
            of_client = os.path.exists(f"/proc/{client.pid}/task/{thread}")
            passed = (client if of_client else self.daemon).passes_breakpoint(thread)
            if of_client and passed and library == 0:
                library = client.beginning(self.library)
                client.break_at([library + function for function in self.library.functions])
            # A stop without a signal is one of ptrace itself, such as that at the start of a thread.
            own = passed is not None or status >> 16 != 0 or number in (5, 19)
            ptrace(PTRACE_CONT, thread, None, None if own else number)


def pairs_on_the_way(build, root):
    """Returns {("hit" or "miss", "daemon" or "client"): the file pairs that three such builds pass through}."""
    tracer = Tracer(build, root)
    found = {}
    try:
        tracer.start()
        for way in ("miss", "hit"):
            for sides in [tracer.traced_build(number) for number in (1, 2, 3)]:
                for side, pairs in zip(("daemon", "client"), sides):
                    found.setdefault((way, side), set()).update(pairs)
    finally:
        tracer.close()
    return found
