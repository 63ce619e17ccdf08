# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A compiler that was taken over by what it compiles gets nowhere: each attempt fails in the sandbox, and the daemon
goes on. Attempts are made for another uid than the daemon's, by system call: nothing of the daemon's own code in the
worker stands in between."""

import os
import pathlib
import socket

import pytest
from conftest import PLACES

MALLORY = 54323
GOOD = 'extern "C" __global__ void good() {}\n'
KILLED = "SIGSYS"


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users"


@pytest.fixture
def shared(make_daemon, toolkit):
    return make_daemon("--socket-mode", "0666", roots=(toolkit.root,)).start()


def attempt(daemon, command):
    """What came of it: the name of an errno or "done", as the attacker saw it; or the signal that ended it."""
    done = daemon.cli(
        "build", "-", "--arch", "sm_90", "--emit", "ptx", "-o", "-", input=f"//fake: {command}\n", user=MALLORY, cwd="/",
        check=False,
    )
    noted = [line for line in done.stdout.decode().splitlines() if line.startswith(command)]
    if noted:
        return noted[0].rpartition(": ")[2]
    assert done.returncode == 5, f"exit {done.returncode}: {done.stderr.decode()}"
    return done.stderr.decode()


def assert_goes_on(daemon, zygotes):
    assert daemon.process.poll() is None
    assert set(zygotes) <= set(daemon.children()), "a zygote died"
    answer = daemon.build_json(GOOD, cwd="/", user=MALLORY)
    assert answer["outcome"] in ("built", "hit")


def zygotes_of(daemon):
    """Warms the toolchain; what is left are the zygotes."""
    daemon.build_json(GOOD, cwd="/", user=MALLORY)
    return [pid for pid in daemon.children() if worker_parent(pid) == daemon.process.pid]


def worker_parent(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


ATTACKS = [
    # files: the daemon's own, the system's, another user's, the toolchain's, the kernel's
    ("read-file {state}/database/CURRENT", "EACCES"),
    ("list-directory {state}", "EACCES"),
    ("read-file /etc/shadow", "EACCES"),
    ("read-file /etc/passwd", "EACCES"),
    ("read-file {home}/secret", "EACCES"),
    ("list-directory {home}", "EACCES"),
    ("read-file /proc/{daemon}/environ", "EACCES"),
    ("read-file /proc/self/maps", "EACCES"),
    ("read-file {toolkit}/include/cuda.h", "done"),  # the one thing that it may
    ("write-file {toolkit}/include/cuda.h", "EACCES"),
    ("write-file {toolkit}/include/new.h", "EACCES"),
    ("truncate-file {toolkit}/include/cuda.h", "EACCES"),
    ("remove-file {toolkit}/include/cuda.h", "ENOSYS"),
    ("write-file /proc/self/oom_score_adj", "EACCES"),
    ("write-file /proc/self/mem", "EACCES"),
    ("write-file {directory}/new", "EACCES"),
    ("system-call symlinkat", "ENOSYS"),
    ("system-call openat2", "ENOSYS"),
    # others, over sockets
    ("connect-unix {socket}", KILLED),
    ("connect-tcp {port}", KILLED),
    # other processes
    ("kill {daemon}", KILLED),
    ("kill {zygote}", KILLED),
    ("kill -1", KILLED),
    ("kill-thread {daemon}", KILLED),
    ("trace {daemon}", KILLED),
    ("trace {zygote}", KILLED),
    ("read-memory {daemon}", KILLED),
    ("read-memory {zygote}", KILLED),
    # other programs
    ("fork", KILLED),
    ("fork-bomb", KILLED),
    ("execute /bin/sh", KILLED),
    ("map-code", "ENOSYS"),
    ("system-call clone3", "ENOSYS"),
    # the kernel
    *((f"system-call {name}", KILLED) for name in (
        "mount", "bpf", "keyctl", "io_uring_setup", "unshare", "userfaultfd", "setsid", "perf_event_open")),
]


@pytest.mark.parametrize("attack, expected", ATTACKS, ids=[attack for attack, _ in ATTACKS])
def test_hostile_compiler(shared, toolkit, directory, attack, expected):
    home = directory / "home"
    home.mkdir(mode=0o700)
    (home / "secret").write_text("mine\n")
    os.chown(home, MALLORY + 1, MALLORY + 1)
    before = pathlib.Path(toolkit.root, "include", "cuda.h").read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        zygotes = zygotes_of(shared)
        command = attack.format(
            state=shared.state, home=home, daemon=shared.process.pid, zygote=zygotes[0], toolkit=toolkit.root,
            socket=shared.socket, directory=directory, port=listener.getsockname()[1],
        )
        result = attempt(shared, command)
        assert expected in result
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert pathlib.Path(toolkit.root, "include", "cuda.h").read_bytes() == before
    assert not (directory / "new").exists()
    assert_goes_on(shared, zygotes)


@pytest.mark.parametrize("kind", ["huge", "malformed", "truncated"])
def test_hostile_compiler_answers_for_its_worker(shared, kind):
    zygotes = zygotes_of(shared)
    result = attempt(shared, f"answer {kind}")
    assert "worker" in result or "compiler's process" in result, result
    assert_goes_on(shared, zygotes)


def test_the_sandbox_in_force_is_in_the_log(shared):
    shared.build_json(GOOD, cwd="/", user=MALLORY)
    assert "sandbox: landlock ABI" in shared.log_text() and "+ seccomp" in shared.log_text()


def test_the_compilers_themselves_notice_nothing(make_daemon):
    """Threads, headers of the toolchain, all the ways to an output, for a uid that is in the sandbox."""
    for root in (PLACES.cuda13, PLACES.cuda12):
        daemon = make_daemon("--socket-mode", "0666", roots=(root,), name=pathlib.Path(root).name).start()
        kernel = (
            "#include <cub/block/block_reduce.cuh>\n"
            'extern "C" __global__ void a(double* p) { *p = sin(*p); }\n'
            'extern "C" __global__ void b(double* p) { *p = pow(*p, 3.3); }\n'
        )
        for options in ([], ["--option=-split-compile=4"], ["--emit", "ltoir"], ["--option=-G"], ["--emit", "optixir"]):
            daemon.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, "--std", "c++17", *options, input=kernel,
                       user=MALLORY, cwd="/")


@pytest.fixture
def without_landlock(make_daemon, toolkit):
    """A daemon on a kernel that has seccomp alone."""
    daemon = make_daemon("--socket-mode", "0666", roots=(toolkit.root,))
    command = daemon.command()
    daemon.command = lambda: [PLACES.without_landlock, *command]
    return daemon.start()


def test_without_landlock_a_worker_opens_nothing(without_landlock, toolkit):
    zygotes = zygotes_of(without_landlock)
    assert "sandbox: seccomp alone" in without_landlock.log_text()
    for path in (f"{toolkit.root}/include/cuda.h", "/etc/shadow", f"{without_landlock.state}/database/CURRENT"):
        assert attempt(without_landlock, f"read-file {path}") == "EACCES"
        assert attempt(without_landlock, f"write-file {path}") == "EACCES"
    assert KILLED in attempt(without_landlock, f"connect-unix {without_landlock.socket}")
    assert_goes_on(without_landlock, zygotes)


def test_without_landlock_a_missing_header_is_never_a_compile_error(without_landlock):
    """The toolchain's own header exists: it is handed over, or the build is refused by name."""
    done = without_landlock.cli(
        "build", "-", "--arch", "sm_90", "-o", os.devnull, input="#include <cuda.h>\n" + GOOD, user=MALLORY, cwd="/",
        check=False,
    )
    assert done.returncode == 0 or (done.returncode == 4 and b"cuda.h" in done.stderr), done.stderr
