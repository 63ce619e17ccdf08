# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon and its command line, as tests run them."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import described_json
import grpc

from patience import PATIENCE, wait_for
from places import PLACES


class Daemon:
    """One cccl-cached under test. It may be stopped, killed and started again on the same state."""

    def __init__(self, directory, toolchain_roots, *flags, environment=None, uid=None, launcher=(), program=None):
        self.directory = pathlib.Path(directory)
        self.socket = str(self.directory / "run" / "socket")
        self.state = str(self.directory / "state")
        self.flags = list(flags)
        self.roots = list(toolchain_roots)
        self.environment = environment or {}
        self.uid = uid
        self.launcher = list(launcher)
        self.program = program or PLACES.daemon
        self.process = None
        self.log = self.directory / "log"

    def command(self):
        command = [self.program, "--socket", self.socket, "--state-dir", self.state, "--toolchain-search", "roots"]
        for root in self.roots:
            command += ["--toolchain-root", root]
        return self.launcher + command + self.flags

    def start(self, expect_ready=True, inherited=()):
        """Starts the daemon. Returns when it has sent READY=1 to its notify socket. `inherited` are descriptors for
        it."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            address = tempfile.mktemp(prefix="notify", dir=self.directory)
            notify.bind(address)
            os.chmod(address, 0o777)
            notify.settimeout(PATIENCE)
            environment = {"PATH": os.environ["PATH"], "NOTIFY_SOCKET": address, "HOME": str(self.directory)}
            environment.update(self.environment)
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, user=self.uid,
                    pass_fds=inherited,
                )
            if expect_ready:
                self.await_ready(notify)
            os.unlink(address)
        return self

    def await_ready(self, notify):
        notify.settimeout(0.05)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"the daemon ended at start:\n{self.log_text()}"
            try:
                if b"READY=1" in notify.recv(4096):
                    return
            except TimeoutError:
                continue
        raise AssertionError(f"the daemon did not become ready:\n{self.log_text()}")

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def await_log(self, words):
        """Waits until the log has these words. The log has a thread of its own, which may write after the answer to
        a call."""
        wait_for(lambda: words in self.log_text(), f"{words!r} in the log")

    def stop(self):
        """Ends the daemon with SIGTERM. Returns its exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self.process = None
        return code

    def upgrade(self):
        """Ends the daemon in order. A daemon of another version takes over its socket and its state."""
        assert self.stop() == 0
        self.program = PLACES.upgraded_daemon
        return self.start()

    def freeze(self):
        """Stops the daemon with SIGSTOP. Returns when all its threads are stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process = None

    def cli(self, *arguments, check=True, input=None, cwd=None, environment=None, user=None):
        """Runs cccl-cache-cli with this daemon."""
        return run_cli(
            "--socket", self.socket, *arguments, check=check, input=input, cwd=cwd or self.directory,
            environment=environment, user=user,
        )

    def build_json(self, source, *arguments, arch="sm_90", **keywords):
        """Returns `build --json` of a source text. The artifact is not kept."""
        done = self.cli("--json", "build", "-", "--arch", arch, "-o", os.devnull, *arguments, input=source, **keywords)
        return json.loads(done.stdout)

    def build_bytes(self, source, *arguments, arch="sm_90", **keywords):
        """Returns (`build --json`, the written bytes) of a source text. The file shows the client's bytes, while
        `build --json` repeats the daemon's digest. None if the build failed and `check` is false."""
        output = pathlib.Path(tempfile.mktemp(prefix="out", dir=self.directory))
        done = self.cli("--json", "build", "-", "--arch", arch, "-o", str(output), *arguments, input=source, **keywords)
        if done.returncode != 0:
            return None
        contents = output.read_bytes()
        output.unlink()
        return json.loads(done.stdout), contents

    def stats(self):
        return json.loads(self.cli("--json", "stats").stdout)

    def channel(self):
        return grpc.insecure_channel(
            f"unix:{self.socket}", options=[("grpc.max_receive_message_length", 64 << 20)]
        )

    def threads(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()))

    def children(self):
        """Returns the pids of all processes below the daemon."""
        found, parents = [], [self.process.pid]
        while parents:
            parent = parents.pop()
            for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
                try:
                    pids = [int(pid) for pid in task.read_text().split()]
                except OSError:
                    continue
                found += pids
                parents += pids
        return found


def run_cli(*arguments, check=True, input=None, cwd=None, environment=None, behind=(), **identity):
    """Runs cccl-cache-cli. `behind` is a program that runs it, with that program's options. `identity` is the user and the
    groups of the process, as for subprocess."""
    done = subprocess.run(
        [*behind, PLACES.cli, *arguments], input=input.encode() if isinstance(input, str) else input, cwd=cwd,
        capture_output=True, timeout=PATIENCE * 2, env={"PATH": os.environ["PATH"], **(environment or {})},
        stdin=subprocess.DEVNULL if input is None else None, **identity,
    )
    if check:
        assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stderr.decode()}"
    if "--json" in arguments and "run" not in arguments and done.stdout:
        described_json.check(arguments, done.stdout)
    return done
