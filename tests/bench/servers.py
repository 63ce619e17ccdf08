# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The servers of the benchmark, on Unix sockets in a temporary directory. They are ended by pid."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

PATIENCE = 120.0  # seconds, only spent if a server does not start


def answers(path):
    """Returns whether a server listens on the socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


class Server:
    """A process that listens on a Unix socket."""

    def __init__(self, command, path, log, program=None):
        self.socket = str(path)
        self.log = pathlib.Path(log)
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command, executable=program, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        deadline = time.monotonic() + PATIENCE
        while not answers(path):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{command[0]} does not listen on {path}:\n{self.log.read_text(errors='replace')}")
            time.sleep(0.002)

    def kill(self):
        """Kills the server at once, as the kernel does when memory is short."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


class Servers:
    """Starts servers, and stops all of them at the end."""

    def __init__(self, build, plots=None):
        self.build = pathlib.Path(build)
        self.plots = plots
        self.directory = tempfile.TemporaryDirectory(prefix="bench", dir="/tmp")
        self.place = pathlib.Path(self.directory.name)
        os.chmod(self.place, 0o755)
        self.running = []
        self.commands = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in reversed(self.running):
            server.stop()
        self.directory.cleanup()

    def _start(self, name, command, path, program=None):
        self.commands[name] = (path, command)
        server = Server([str(word) for word in command], path, self.place / f"{name}.log", program)
        self.running.append(server)
        return server.socket

    def _server(self, name):
        path, _ = self.commands[name]
        return next(server for server in self.running if server.socket == str(path))

    def memory(self, name):
        """Returns the resident bytes of the process."""
        status = pathlib.Path(f"/proc/{self._server(name).process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) << 10

    def kill_and_start(self, name):
        """Kills the server with kill -9 and starts it again. Returns when it listens."""
        path, command = self.commands[name]
        self._server(name).kill()
        self.running = [server for server in self.running if server.socket != str(path)]
        self._start(name, command, path)

    def state(self, name):
        """Returns the state directory of a daemon, which need not have been started."""
        return self.place / f"{name}.state"

    def remove(self, name):
        """Stops a server and removes its files, so that the next server of this name begins empty."""
        server = self._server(name)
        server.stop()
        self.running.remove(server)
        shutil.rmtree(self.state(name), ignore_errors=True)

    def daemon(self, name, toolchain_root, *options, build=None, within=None):
        """Starts a daemon of this or another build directory with this toolchain alone. `within` is a control group."""
        path = self.place / name / "socket"
        command = [
            (build or self.build) / "daemon/cccl-cached", "--socket", path, "--state-dir", self.state(name),
            "--toolchain-search", "roots", "--toolchain-root", toolchain_root, "--log-level", "warning", *options,
        ]
        return self._start(name, within.command(command) if within else command, path)

    def echo(self):
        path = self.place / "echo.sock"
        return self._start("echo", [self.build / "tests/bench/bench_echo_server", path], path)

    def redis(self):
        path = self.place / "redis.sock"
        command = [
            "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no",
            "--dir", self.place, "--daemonize", "no",
        ]
        # The program keeps its name in the package of Redis' tools too.
        return self._start("redis", command, path, shutil.which("redis-check-rdb"))
