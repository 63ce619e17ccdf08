# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A captured compiler can do no harm. Each attempt fails in the sandbox, and the daemon goes on. The attempts run as
another uid than the daemon's and are made by system call, so that none of the daemon's code in the worker stops
them. Without the sandbox, each attempt succeeds or fails for another reason: EFAULT and EINVAL for calls with zeros,
EPERM for setsid, ESRCH if the first attempt has killed the zygote that the retry needs. test_failing_compilers.py
tests floods and invalid answers."""

import concurrent.futures
import os
import pathlib
import socket
import struct

import pytest
from conftest import PLACES
from patience import wait_for

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
    """Returns the outcome of an attempt: the name of an errno or "done", or the signal that ended the attacker."""
    done = daemon.cli(
        "build", "-", "--arch", "sm_90", "--emit", "ptx", "-o", "-", input=f"//fake: {command}\n", user=MALLORY, cwd="/",
        check=False,
    )
    noted = [line for line in done.stdout.decode().splitlines() if line.startswith(command)]
    if noted:
        return noted[0].rpartition(": ")[2]
    assert done.returncode == 5, f"exit {done.returncode}: {done.stderr.decode()}"
    return done.stderr.decode()


def assert_goes_on(daemon, zygotes, killed=False):
    """Checks that the daemon goes on. `killed`: a worker died by a signal of its own, so no other worker is forked
    from the same zygote, which has the same memory layout."""
    assert daemon.process.poll() is None
    if killed:
        assert not set(zygotes) & set(daemon.children()), "a zygote goes on after its worker died"
    else:
        assert set(zygotes) <= set(daemon.children()), "a zygote died"
    answer = daemon.build_json(GOOD, cwd="/", user=MALLORY)
    assert answer["outcome"] in ("built", "hit")


def zygotes_of(daemon):
    """Warms the toolchain. Returns the processes that stay, which are the zygotes."""
    daemon.build_json(GOOD, cwd="/", user=MALLORY)
    return [pid for pid in daemon.children() if worker_parent(pid) == daemon.process.pid]


def worker_parent(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


ATTACKS = [
    # Files: the daemon's own, the system's, another user's, the toolchain's, the kernel's.
    ("read-file {state}/database/CURRENT", "EACCES"),
    ("stat-file {state}/database/CURRENT", "EACCES"),
    ("look-at-file {state}/database/CURRENT", "EACCES"),
    ("access-file {state}/database/CURRENT", "EACCES"),
    ("stat-file {home}/secret", "EACCES"),
    ("list-directory {state}", "EACCES"),
    ("read-file /etc/shadow", "EACCES"),
    ("read-file /etc/passwd", "EACCES"),
    ("read-file {home}/secret", "EACCES"),
    ("list-directory {home}", "EACCES"),
    ("read-file /proc/{daemon}/environ", "EACCES"),
    ("read-file /proc/self/maps", "EACCES"),
    ("read-file {toolkit}/include/cuda.h", "done"),  # the only file that it may read
    ("write-file {toolkit}/include/cuda.h", "EACCES"),
    ("write-file {toolkit}/include/new.h", "EACCES"),
    ("truncate-file {toolkit}/include/cuda.h", "EACCES"),
    ("remove-file {toolkit}/include/cuda.h", "ENOSYS"),
    ("write-file /proc/self/oom_score_adj", "EACCES"),
    ("write-file /proc/self/mem", "EACCES"),
    ("write-file {directory}/new", "EACCES"),
    ("system-call symlinkat", "ENOSYS"),
    ("system-call openat2", "ENOSYS"),
    # Other processes, over sockets.
    ("connect-unix {socket}", KILLED),
    ("connect-tcp {port}", KILLED),
    # Signals to other processes.
    ("kill {daemon}", KILLED),
    ("kill {zygote}", KILLED),
    ("kill -1", KILLED),
    ("kill-thread {daemon}", KILLED),
    ("trace {daemon}", KILLED),
    ("trace {zygote}", KILLED),
    ("read-memory {daemon}", KILLED),
    ("read-memory {zygote}", KILLED),
    # Other programs.
    ("fork", KILLED),
    ("fork-bomb", KILLED),
    ("execute /bin/sh", KILLED),
    ("map-code", "ENOSYS"),
    ("map-shared", "ENOSYS"),
    ("map-readable", "ENOMEM"),
    ("make-file-in-memory", "EMFILE"),
    ("system-call clone3", "ENOSYS"),
    # The kernel.
    *((f"system-call {name}", KILLED) for name in (
        "mount", "bpf", "keyctl", "io_uring_setup", "unshare", "userfaultfd", "setsid", "perf_event_open")),
]


ATTACKS_BY_NAME = [
    f"{way} {path}"
    for path in ("{toolkit}/include/cuda.h", "/etc/shadow", "{state}/database/CURRENT")
    for way in ("read-file", "write-file", "stat-file")
] + ["list-directory {toolkit}/include", "write-file {directory}/new"]


@pytest.mark.parametrize("attack, expected", ATTACKS, ids=[attack for attack, _ in ATTACKS])
def test_an_attack_from_the_compiler_fails_in_the_sandbox(shared, toolkit, directory, attack, expected):
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
    assert_goes_on(shared, zygotes, killed=expected == KILLED)


@pytest.mark.parametrize("kind, why", [
    ("huge", "larger than the"),
    ("malformed", "the worker's answer is malformed"),
    ("truncated", "the compiler's process ended without an answer"),
])
def test_an_invalid_answer_of_a_captured_worker_is_refused_with_the_reason(shared, kind, why):
    zygotes = zygotes_of(shared)
    assert why in attempt(shared, f"answer {kind}")
    assert_goes_on(shared, zygotes)


def test_a_worker_can_not_report_a_false_closure(shared, directory):
    """A worker can ask for harmless files too. The closure lists the files that the daemon sent, not those that the
    worker reports."""
    includes = directory / "include"
    includes.mkdir(mode=0o755)
    for name in ("used.h", "harmless.h"):
        (includes / name).write_text(f"// {name}\n")
    question = "ask-daemon 1 harmless.h"
    source = f'#include "used.h"\n//fake: {question}\n' + GOOD

    def build():
        before = shared.stats()["compiles_total"]
        arguments = ("--arch", "sm_90", "--emit", "ptx", "-o", "-", f"-I{includes}")
        ptx = shared.cli("build", "-", *arguments, input=source, user=MALLORY, cwd="/").stdout
        assert f"{question}: done" in ptx.decode().splitlines()
        return "built" if shared.stats()["compiles_total"] > before else "hit"

    assert [build(), build()] == ["built", "hit"]
    (includes / "used.h").write_text("// else\n")
    assert [build(), build()] == ["built", "hit"]
    (includes / "harmless.h").write_text("// else\n")
    assert build() == "built"


def told_by_kernel(pid):
    """Returns the lines of /proc/PID/status by their names, and the soft and hard values of /proc/PID/limits."""
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    limits = pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
    return status, {line[:26].strip(): line[26:].split()[:2] for line in limits}


def files_in_memory(pid):
    """Returns the memory files that a process may write to. Its job is sealed and therefore not among them."""
    files = [os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    return sum("memfd:scratch" in file for file in files)


def test_a_worker_is_confined_while_it_compiles(shared, toolkit):
    """Reads the limits from the kernel. daemon/worker/sandbox/isolation.cc says what each is for."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        build = pool.submit(shared.build_json, "//fake: wait-for gate\n", cwd="/", user=MALLORY)
        toolkit.await_arrivals("gate", 1)
        told = [told_by_kernel(pid) for pid in shared.children()]
        scores = {pid: int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in shared.children()}
        nices = {pid: os.getpriority(os.PRIO_PROCESS, pid) for pid in shared.children()}
        files = {pid: files_in_memory(pid) for pid in shared.children()}
        toolkit.open("gate")
        build.result()
    (status, limits), = [each for each in told if each[0]["Seccomp"] == "2"]
    worker = int(status["Pid"])
    assert scores[worker] == 500
    assert nices[worker] == os.getpriority(os.PRIO_PROCESS, shared.process.pid) + 5
    assert files[worker] * int(limits["Max file size"][0]) <= 512 << 20  # RLIMIT_DATA does not count these
    assert status["NoNewPrivs"] == "1"
    assert {status[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}
    assert limits["Max open files"] == ["64", "64"]
    assert limits["Max file size"] == [str(64 << 20)] * 2
    assert limits["Max processes"] == ["4096", "4096"]
    assert limits["Max core file size"] == ["0", "0"]
    assert limits["Max data size"][0] == limits["Max data size"][1] != "unlimited"
    assert limits["Max address space"][0] == limits["Max address space"][1] != "unlimited"


def test_the_sandbox_in_force_is_in_the_log(shared):
    shared.build_json(GOOD, cwd="/", user=MALLORY)
    shared.await_log("sandbox: Landlock ABI")
    assert "and seccomp" in shared.log_text()


KERNEL = (
    "#include <cub/block/block_reduce.cuh>\n"
    'extern "C" __global__ void a(double* p) { *p = sin(*p); }\n'
    'extern "C" __global__ void b(double* p) { *p = pow(*p, 3.3); }\n'
)
WAYS = [[], ["--option=-split-compile=4"], ["--emit", "ltoir"], ["--emit", "optixir"], ["--option=-G"]]
ROOTS = [PLACES.cuda13, PLACES.cuda12]


def outputs(daemon, user):
    """Compiles one program to all kinds of output, each in a daemon with an empty cache."""
    return [
        daemon.cli("build", "-", "--arch", "sm_90", "-o", "-", "--std", "c++17", *options, input=KERNEL, user=user,
                   cwd="/").stdout
        for options in WAYS
    ]


def behind(daemon, *launcher):
    """Runs the daemon on a kernel that lacks a feature."""
    command = daemon.command()
    daemon.command = lambda: [PLACES.without_landlock, *launcher, *command]
    return daemon.start()


def without_line_tables(cubin):
    """Returns the sections of an ELF file by name, except the line tables."""
    table, = struct.unpack_from("<Q", cubin, 40)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + number * size) for number in range(count)]
    names = headers[names_at]
    sections = {}
    for name_offset, kind, _, _, offset, length in headers:
        start = names[4] + name_offset
        name = cubin[start:cubin.index(b"\0", start)].decode()
        if "debug_line" not in name:
            sections[name] = (kind, cubin[offset:offset + length])
    assert len(sections) > 5
    return sections


@pytest.mark.parametrize("root", ROOTS, ids=["cuda13", "cuda12"])
def test_the_real_compilers_work_in_the_sandbox(make_daemon, root):
    """Threads, headers of the toolchain and all outputs work in each sandbox. The bytes and closures are the same as
    without a sandbox."""
    full = make_daemon("--socket-mode", "0666", roots=(root,), name="full").start()
    expected = outputs(full, MALLORY)
    assert all(expected)
    full.await_log("sandbox: Landlock")
    closed = behind(make_daemon("--socket-mode", "0666", roots=(root,), name="closed"))
    *answers, with_line_table = outputs(closed, MALLORY)
    assert answers == expected[:-1]
    assert without_line_tables(with_line_table) == without_line_tables(expected[-1])  # these hold the times of headers
    closed.await_log("sandbox: seccomp alone")
    assert closed.build_json(KERNEL, "--std", "c++17", user=MALLORY + 1, cwd="/")["outcome"] == "hit"
    none = behind(make_daemon("--socket-mode", "0666", roots=(root,), name="none"), "--nor-seccomp")
    assert outputs(none, None) == expected
    none.await_log("sandbox: none")


@pytest.fixture
def without_landlock(make_daemon, toolkit):
    """A daemon on a kernel that has only seccomp."""
    return behind(make_daemon("--socket-mode", "0666", roots=(toolkit.root,)))


@pytest.mark.parametrize("attack", ATTACKS_BY_NAME)
def test_without_landlock_a_worker_opens_nothing(without_landlock, toolkit, directory, attack):
    zygotes = zygotes_of(without_landlock)
    without_landlock.await_log("sandbox: seccomp alone")
    command = attack.format(toolkit=toolkit.root, state=without_landlock.state, directory=directory)
    assert attempt(without_landlock, command) == "EACCES"
    assert KILLED in attempt(without_landlock, f"connect-unix {without_landlock.socket}")
    assert not (directory / "new").exists()
    assert_goes_on(without_landlock, zygotes, killed=True)


def test_without_landlock_the_daemon_sends_the_toolchains_headers(without_landlock, toolkit):
    """The toolchain's headers reach the compiler, even if the requester can't open them. Other files do not, in any
    spelling of the name."""
    header = pathlib.Path(toolkit.root, "include", "cuda.h")
    os.chmod(header, 0o600)
    source = f"#include <cuda.h>\n//fake: open {toolkit.root}/include/../secret\n"
    pathlib.Path(toolkit.root, "secret").write_text("mine\n")
    os.chmod(pathlib.Path(toolkit.root, "secret"), 0o600)
    answers = []

    def build():
        answers.append(without_landlock.cli(
            "build", "-", "--arch", "sm_90", "--emit", "ptx", "-o", "-", input=source + GOOD, user=MALLORY, cwd="/",
            check=False,
        ))
        return b"it is looked at again soon" not in answers[-1].stderr

    wait_for(build, "the toolchain, which has just changed, is looked at")
    done = answers[-1]
    assert b"mine" not in done.stdout + done.stderr
    assert b"secret" in done.stderr, done.stderr  # the file was refused by its name, cuda.h was not
    done = without_landlock.cli(
        "build", "-", "--arch", "sm_90", "--emit", "ptx", "-o", "-", input="#include <cuda.h>\n" + GOOD, user=MALLORY,
        cwd="/",
    )
    assert done.stdout


def test_a_program_has_one_key_with_landlock_and_without(make_daemon):
    """The key is the same also for names with ".." that lead out of the toolchain, or to no file in it."""
    names = ("cub/../absent.h", "absent/../cuda.h", "../absent.h", "cub/../cuda.h")
    source = "".join(f"#if __has_include(<{name}>)\n#endif\n" for name in names)
    full = make_daemon("--socket-mode", "0666", roots=(PLACES.cuda13,), name="full").start()
    closed = behind(make_daemon("--socket-mode", "0666", roots=(PLACES.cuda13,), name="closed"))
    told = [daemon.build_json(source, user=MALLORY, cwd="/") for daemon in (full, closed)]
    assert [each["outcome"] for each in told] == ["built", "built"]
    assert told[0]["key"] == told[1]["key"]
    closed.await_log("sandbox: seccomp alone")


def test_without_any_sandbox_no_other_user_is_served(make_daemon, toolkit):
    daemon = behind(make_daemon("--socket-mode", "0666", roots=(toolkit.root,)), "--nor-seccomp")
    assert daemon.build_json(GOOD)["outcome"] == "built"
    daemon.await_log("sandbox: none")
    daemon.await_log("are not compiled")
    refused = daemon.cli(
        "build", "-", "--arch", "sm_90", "-o", os.devnull, input=GOOD + "// other\n", user=MALLORY, cwd="/", check=False,
    )
    assert refused.returncode != 0 and b"for its own user alone" in refused.stderr, refused.stderr
    assert daemon.build_json(GOOD + "// mine\n")["outcome"] == "built"
