# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Files that must not be opened, and file systems that hang. A build gets an error with the reason before its
deadline, and all other builds go on."""

import ctypes
import os
import pathlib
import subprocess
import time

import pytest
from conftest import PLACES, wait_for

ALICE, BOB = 54321, 54322
LIMIT = 3  # longest time of a build, in seconds
KERNEL = 'extern "C" __global__ void k() {}\n'
MNT_DETACH = 2


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test mounts a file system"


def build(daemon, text, *arguments, **keywords):
    return daemon.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, *arguments, input=text, check=False, cwd="/",
                      **keywords)


def refusal(daemon, text, *arguments):
    """Returns the message of a build that fails, but not at its deadline."""
    done = build(daemon, text, *arguments)
    assert done.returncode == 4, done.stderr
    statistics = daemon.stats()
    assert statistics["timeouts_total"] == 0
    assert build(daemon, KERNEL).returncode == 0
    return done.stderr.decode()


def test_a_fifo_in_an_include_directory_is_an_error_that_names_it(lasting, directory):
    os.mkfifo(directory / "x.h")
    told = refusal(lasting, "#include <x.h>\n", "-I", str(directory))
    assert f"{directory / 'x.h'} is no regular file but a FIFO, a device or a socket" in told


@pytest.mark.parametrize("path", ("/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/kmsg", "/sys/kernel/notes"))
def test_the_kernels_own_files_are_an_error_that_names_them(lasting, directory, path):
    assert "leads to where no build gets files from" in refusal(lasting, f'#include "{path}"\n')


def test_the_daemons_state_is_no_include_directory(lasting, directory):
    """The path of the directory may have any spelling."""
    state = pathlib.Path(lasting.state)
    (directory / "link").symlink_to(state)
    for spelling in (state, directory / "link", f"{state}/../state", f"/proc/self/root{state}"):
        told = refusal(lasting, "#include <LOCK>\n", "-I", str(spelling))
        assert f"{spelling}/LOCK leads to where no build gets files from" in told


def test_the_daemons_runtime_directory_is_no_include_directory(make_daemon, toolkit, directory):
    runtime = directory / "d" / "run"
    daemon = make_daemon(roots=(toolkit.root,), environment={"RUNTIME_DIRECTORY": str(runtime)}).start()
    told = refusal(daemon, "#include <x.h>\n", "-I", str(runtime))
    assert f"{runtime}/x.h leads to where no build gets files from" in told


class HungFileSystem:
    """A file system whose server answers nothing, not even the mount. Any access waits."""

    def __init__(self, place):
        self.place = place
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.server},rootmode=40000,user_id=0,group_id=0,allow_other"
        failed = self.libc.mount(b"hung", str(place).encode(), b"fuse", 0, options.encode())
        assert not failed, os.strerror(ctypes.get_errno())

    def end(self):
        self.libc.umount2(str(self.place).encode(), MNT_DETACH)
        os.close(self.server)


@pytest.fixture
def hung(directory):
    place = directory / "hung"
    place.mkdir()
    file_system = HungFileSystem(place)
    yield place
    file_system.end()


@pytest.fixture
def shared(make_daemon, toolkit):
    flags = ("--socket-mode", "0666", "--build-timeout", f"{LIMIT}s", "--jobs", "8")
    return make_daemon(*flags, roots=(toolkit.root,)).start()


def start(daemon, text, *arguments, user=None):
    """Starts a build without waiting for it."""
    process = subprocess.Popen(
        [PLACES.cli, "--socket", daemon.socket, "build", "-", "--arch", "sm_90", "-o", os.devnull, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", user=user,
    )
    process.stdin.write(text.encode())
    process.stdin.close()
    process.stdin = None
    return process


WAYS = {  # ways to access {}: a program, and arguments
    "an include directory": ("#include <x.h>\n", "-I", "{}"),
    "below an include directory": ("#include <hung/x.h>\n", "-I", "{}/.."),
    "the source's directory": ('#include "x.h"\n', "--name", "{}/k.cu"),
    "an absolute name": ('#include "{}/x.h"\n',),
}


def start_all(daemon, hung, user=None):
    """Starts a build for each way. Returns when the daemon has all of them."""
    waiting = []
    for way, words in WAYS.items():
        text, *arguments = (word.replace("{}", str(hung)) for word in words)
        waiting.append(start(daemon, f"// {way}\n{text}", *arguments, user=user))
    wait_for(lambda: daemon.stats()["builds_total"] == len(WAYS), "the builds' coming")
    return waiting


@pytest.mark.parametrize("user", (None, ALICE), ids=("own", "other"))
def test_builds_over_a_hanging_file_system_end_in_time_and_delay_no_other_build(shared, hung, user):
    began = time.monotonic()
    waiting = start_all(shared, hung, user)
    for number, other in enumerate((None, ALICE, BOB)):
        assert build(shared, f"// {number}\n" + KERNEL, user=other).returncode == 0
    assert time.monotonic() - began < LIMIT  # the other builds are still waiting
    assert [process.poll() for process in waiting] == [None] * len(WAYS)
    for way, process in zip(WAYS, waiting):
        _, told = process.communicate(timeout=30)
        assert LIMIT <= time.monotonic() - began < LIMIT + 5, way
        assert process.returncode == 5, (way, told)
        assert b"file system" in told, (way, told)
    assert build(shared, "// afterwards\n" + KERNEL, user=user).returncode == 0


def test_a_daemon_stops_while_file_systems_hang(shared, hung):
    waiting = start_all(shared, hung)
    began = time.monotonic()
    assert shared.stop() == 0
    assert time.monotonic() - began < 10
    for process in waiting:
        process.communicate(timeout=30)
        assert process.returncode != 0


def test_a_build_over_hanging_files_is_an_error_and_no_stale_hit(shared, directory):
    place = directory / "place"
    place.mkdir()
    (place / "x.h").write_text("// there\n")
    arguments = ("#include <x.h>\n", "-I", str(place))
    assert build(shared, *arguments).returncode == 0
    file_system = HungFileSystem(place)
    try:
        done = build(shared, *arguments)
    finally:
        file_system.end()
    assert done.returncode == 5
    assert b"file system" in done.stderr
    again = build(shared, *arguments, "--option=--no-cache")
    assert again.returncode == 0, again.stderr
