# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon of its own for each test: real binaries, real sockets, real databases, in a temporary directory."""

import atexit
import ctypes
import functools
import json
import mmap
import os
import pathlib
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

import grpc
import pytest

PATIENCE = 60.0  # seconds; only ever spent by a test that fails


def serves(path):
    """Whether a daemon of ours would take a compiler below this path, and other users could go there if we are root."""
    path = pathlib.Path(path).resolve()
    for status in (each.stat() for each in (path, *path.parents)):
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
            return False
        if os.geteuid() == 0 and status.st_mode & 0o005 != 0o005:
            return False
    return True


class Places:
    """Where CMake put what the tests run; a missing variable is an error, never a skip.

    Where they would not serve there, copies are used: a daemon takes no compiler that anybody but root and its own user
    can change, and what lies in a home that is closed other users can't even start."""

    def __init__(self):
        self.stubs = os.environ["CCCL_CACHED_TEST_STUBS"]
        self._copies = None

    @functools.cached_property
    def _binaries(self):
        daemon, cli = (pathlib.Path(os.environ[f"CCCL_CACHED_TEST_{name}"]) for name in ("DAEMON", "CLI"))
        build = daemon.parents[1]
        if serves(build):
            return daemon, cli
        names = [daemon, daemon.parent / "worker/cccl-cached-worker", cli, *(build / "client").glob("*.so*")]
        for file in names:
            copy = self._directory() / file.relative_to(build)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        return self._directory() / daemon.relative_to(build), self._directory() / cli.relative_to(build)

    @property
    def daemon(self):
        return str(self._binaries[0])

    @property
    def cli(self):
        return str(self._binaries[1])

    @functools.cached_property
    def fake13(self):
        return self._toolkit("FAKE13")

    @functools.cached_property
    def fake12(self):
        return self._toolkit("FAKE12")

    @functools.cached_property
    def cuda13(self):
        return self._toolkit("CUDA13")

    @functools.cached_property
    def cuda12(self):
        return self._toolkit("CUDA12")

    def _toolkit(self, name):
        root = os.environ[f"CCCL_CACHED_TEST_{name}"]
        if serves(root):
            return root
        copy = self._directory() / name.lower()
        subprocess.run(["cp", "-rP", "--preserve=mode,timestamps", root, copy], check=True)
        subprocess.run(["chmod", "-R", "go-w", copy], check=True)
        return str(copy)

    def _directory(self):
        if self._copies is None:
            self._copies = pathlib.Path(tempfile.mkdtemp(prefix="cccl", dir="/tmp"))
            atexit.register(shutil.rmtree, self._copies)
            self._copies.chmod(0o755)
        return self._copies


PLACES = Places()
sys.path.insert(0, PLACES.stubs)

from cccl_cache.v1 import admin_pb2, admin_pb2_grpc, build_pb2, build_pb2_grpc  # noqa: E402


def wait_for(condition, what):
    """Polls until the condition holds; the condition is what is waited for, not a length of time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"waited {PATIENCE:.0f} s in vain for {what}")


class FakeToolkit:
    """A private copy of a fake CUDA with gates and counters (tests/support/fake_toolchain/control.h)."""

    COUNTERS = ("loads", "nvrtc_compiles", "links", "nvvm_compiles")
    GATES = 256
    FIRST_GATE = 4 * len(COUNTERS)
    SIZE = FIRST_GATE + 8 * GATES
    FUTEX_CALL, FUTEX_WAKE = 202, 1

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
        """Lets go on whoever waits at the gate, now and later."""
        place = self._gate(gate)
        struct.pack_into("<I", self.memory, place, 1)
        word = ctypes.c_uint32.from_buffer(self.memory, place)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(self.FUTEX_CALL, ctypes.byref(word), self.FUTEX_WAKE, 0x7FFFFFFF, None, None, 0)
        del word

    def await_arrivals(self, gate, count):
        """Returns when `count` compiles have come to the gate in all."""
        place = self._gate(gate) + 4
        wait_for(lambda: struct.unpack_from("<I", self.memory, place)[0] >= count, f"{count} compiles at {gate}")


class Daemon:
    """One cccl-cached under test; may be stopped, killed and started again on the same state."""

    def __init__(self, directory, toolchain_roots, *flags, environment=None, uid=None, launcher=()):
        self.directory = pathlib.Path(directory)
        self.socket = str(self.directory / "run" / "socket")
        self.state = str(self.directory / "state")
        self.flags = list(flags)
        self.roots = list(toolchain_roots)
        self.environment = environment or {}
        self.uid = uid
        self.launcher = list(launcher)
        self.process = None
        self.log = self.directory / "log"

    def command(self):
        command = [PLACES.daemon, "--socket", self.socket, "--state-dir", self.state, "--toolchain-search", "roots"]
        for root in self.roots:
            command += ["--toolchain-root", root]
        return self.launcher + command + self.flags

    def start(self, expect_ready=True):
        """Returns when the daemon has said READY=1 to its notify socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            address = tempfile.mktemp(prefix="notify", dir=self.directory)
            notify.bind(address)
            os.chmod(address, 0o777)
            notify.settimeout(PATIENCE)
            environment = {"PATH": os.environ["PATH"], "NOTIFY_SOCKET": address, "HOME": str(self.directory)}
            environment.update(self.environment)
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, user=self.uid
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

    def stop(self):
        """Ends it in order; returns its exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self.process = None
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process = None

    def cli(self, *arguments, check=True, input=None, cwd=None, environment=None, user=None):
        """Runs cccl-cache-cli against this daemon."""
        return run_cli(
            "--socket", self.socket, *arguments, check=check, input=input, cwd=cwd or self.directory,
            environment=environment, user=user,
        )

    def build_json(self, source, *arguments, arch="sm_90", **keywords):
        """`build --json` of a source text; the artifact goes nowhere."""
        done = self.cli("--json", "build", "-", "--arch", arch, "-o", os.devnull, *arguments, input=source, **keywords)
        return json.loads(done.stdout)

    def build_bytes(self, source, *arguments, arch="sm_90", **keywords):
        """(`build --json`, the bytes that were written) of a source text. What `build --json` says of the bytes comes
        from the daemon, so only the file shows what a client got. None if the build failed and `check` is false."""
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

    def children(self):
        """Pids of all processes below the daemon."""
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


def run_cli(*arguments, check=True, input=None, cwd=None, environment=None, user=None):
    done = subprocess.run(
        [PLACES.cli, *arguments], input=input.encode() if isinstance(input, str) else input, cwd=cwd,
        capture_output=True, timeout=PATIENCE * 2, env={"PATH": os.environ["PATH"], **(environment or {})},
        stdin=subprocess.DEVNULL if input is None else None, user=user,
    )
    if check:
        assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stderr.decode()}"
    return done


def nvrtc_request(source, *options, arch="sm_90", name="kernel.cu", headers=(), **fields):
    """A BuildRequest for stock gRPC clients."""
    program = build_pb2.NvrtcProgram(
        source=build_pb2.Blob(inline_bytes=source.encode() if isinstance(source, str) else source), name=name,
        options=[f"-arch={arch}", *options],
    )
    for header, text in headers:
        program.headers.add(name=header, contents=build_pb2.Blob(inline_bytes=text.encode()))
    return build_pb2.BuildRequest(nvrtc=program, **fields)


@pytest.fixture
def directory():
    """A short path: a Unix socket's may be at most 107 bytes long. Owned by root or the caller, not writable by
    others."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


@pytest.fixture
def make_daemon(directory):
    """Makes daemons and ends them with the test."""
    made = []

    def make(*flags, roots=(PLACES.fake13,), name="d", **keywords):
        place = directory / name
        place.mkdir(exist_ok=True)
        daemon = Daemon(place, roots, *flags, **keywords)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()


@pytest.fixture
def toolkit(directory):
    """A fake CUDA 13 of the test's own."""
    return FakeToolkit(PLACES.fake13, directory / "cuda")


@pytest.fixture
def fake(make_daemon, toolkit):
    """A running daemon over the test's own fake toolchain."""
    return make_daemon(roots=(toolkit.root,)).start()


@pytest.fixture
def real(make_daemon):
    """A running daemon over CUDA 13."""
    return make_daemon(roots=(PLACES.cuda13,)).start()


@pytest.fixture(scope="module")
def lasting():
    """A running daemon over CUDA 13 for all tests of a file: each has a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        os.chmod(place, 0o755)
        daemon = Daemon(place, (PLACES.cuda13,)).start()
        yield daemon
        daemon.stop()
