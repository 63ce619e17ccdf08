# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's libraries in a directory that users can write to. The daemon keeps a copy, and serves programs that load
them."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest
from conftest import PATIENCE, PLACES, wait_for
from test_run import alone, library_of, served, under_run

from cccl_cache.v1 import admin_pb2, admin_pb2_grpc

SOURCE = pathlib.Path(__file__).with_name("run_program.c")
LINKED = """
from cuda.core import Linker, LinkerOptions, Program, ProgramOptions
options = ProgramOptions(arch="sm_90", link_time_optimization=True)
sources = ('extern "C" __device__ int f(int); extern "C" __global__ void k(int* x) { *x = f(*x); }',
           'extern "C" __device__ int f(int x) { return x + 1; }')
parts = [Program(source, "c++", options).compile("ltoir") for source in sources]
print(Linker(*parts, options=LinkerOptions(arch="sm_90", link_time_optimization=True)).link("cubin").code)
"""
PIECE = 1 << 20


@pytest.fixture
def venv(directory):
    """CUDA 12's NVRTC and nvJitLink in a user's directories, to which all users may write."""
    place = directory / "venv"
    for name in ("libnvrtc", "libnvJitLink"):
        library = library_of(PLACES.cuda12, name)
        copies = place / name
        copies.mkdir(parents=True)
        copies.chmod(0o777)
        for each in (library, *library.parent.glob(f"{name}-builtins.so.*")):
            shutil.copy(each, copies)
    return place


@pytest.fixture
def daemon(make_daemon):
    """A daemon that has only another release."""
    made = make_daemon(roots=(PLACES.cuda13,)).start()
    made.cli("toolchains")
    return made


@pytest.fixture
def program(directory, venv):
    """A program that compiles with the NVRTC of the virtual environment."""
    path = directory / "program"
    subprocess.run(["cc", SOURCE, "-w", "-pthread", "-o", path, "-ldl"], check=True)
    return (path, venv / "libnvrtc/libnvrtc.so.12")


def add(daemon, *paths, check=True):
    """Adds the libraries. Returns {file name: whether it was added}."""
    done = daemon.cli("--json", "toolchains", "add", *paths, check=check)
    return {pathlib.Path(each["path"]).name: each.get("added") for each in json.loads(done.stdout)["libraries"]}


def toolchains(daemon):
    """Returns {path: (version, whether it is the default)} of each toolchain."""
    told = json.loads(daemon.cli("--json", "toolchains").stdout)["toolchains"]
    return {each["root"]: (each["version"], each["selected_by_default"]) for each in told}


def kept(daemon):
    """Returns the names in the directory of releases."""
    place = pathlib.Path(daemon.state, "releases")
    return sorted(each.name for each in place.iterdir()) if place.exists() else []


def digests(library):
    return [hashlib.sha256(each.read_bytes()).digest() for each in library]


def files(venv):
    [builtins] = (venv / "libnvrtc").glob("libnvrtc-builtins.so.*")
    return [venv / "libnvrtc/libnvrtc.so.12", builtins]


def pieces(names, *contents):
    """Returns the messages of a client that gives these digests and sends these bytes, in pieces of the largest
    allowed size."""
    pieces = [each[start : start + PIECE] for each in contents for start in range(0, len(each), PIECE)] or [b""]
    yield admin_pb2.AddReleaseRequest(sha256=names, data=pieces[0])
    for piece in pieces[1:]:
        yield admin_pb2.AddReleaseRequest(data=piece)


def test_added_libraries_serve_programs_that_load_them_with_the_same_bytes(daemon, venv, program):
    expected = alone(*program)
    ptx, report = under_run(daemon.socket, *program)
    assert (ptx, report["forwarded"]["library unknown to daemon"]) == (expected, 1)
    assert "toolchains add" in report["refusal"]
    assert add(daemon, venv) == {"libnvrtc.so.12": True, "libnvJitLink.so.12": True}
    assert add(daemon, venv) == {"libnvrtc.so.12": False, "libnvJitLink.so.12": False}
    for outcome in ((0, 1), (1, 0)):
        ptx, report = under_run(daemon.socket, *program)
        assert (ptx, served(report)) == (expected, outcome)
    assert daemon.stop() == 0
    daemon.start().cli("toolchains")
    ptx, report = under_run(daemon.socket, *program)
    assert (ptx, served(report)) == (expected, (1, 0))
    assert add(daemon, venv / "libnvrtc") == {"libnvrtc.so.12": False}


def test_links_are_served_with_an_added_library(make_daemon):
    daemon = make_daemon(roots=()).start()
    nvrtc = library_of(PLACES.cuda13)
    assert add(daemon, nvrtc.parent) == {nvrtc.name: True, library_of(PLACES.cuda13, "libnvJitLink").name: True}
    packages = pathlib.Path(__file__).parents[2] / ".toolchains/cuda-python"
    environment = {"PYTHONPATH": str(packages), "LD_LIBRARY_PATH": str(nvrtc.parent)}
    words = (sys.executable, "-c", LINKED)
    expected = alone(*words, **environment)
    for outcome in ((0, 3), (3, 0)):
        made, report = under_run(daemon.socket, *words, **environment)
        assert (made, served(report)) == (expected, outcome)


def test_a_directory_s_other_libraries_are_passed_over(daemon, venv):
    """A virtual environment has our own wheel, and a library that is not of NVIDIA's releases."""
    stand_in = venv / "cccl_cache/cccl-cached/nvrtc-12.0/libnvrtc.so.12"
    stand_in.parent.mkdir(parents=True)
    stand_in.write_bytes(b"ours")
    (stand_in.parents[1] / "libcccl_cache_audit.so").write_bytes(b"")
    others = venv / "others/libnvJitLink.so.12"
    others.parent.mkdir()
    others.write_bytes(b"not NVIDIA's")
    done = daemon.cli("toolchains", "add", venv)
    assert done.stderr == b"" and len(kept(daemon)) == 2
    told = done.stdout.decode()
    assert f"passed over {others}: no release of NVIDIA's" in told and "passed over 1 of cccl-cache's own" in told
    assert daemon.cli("toolchains", "add", others, check=False).returncode == 4
    assert daemon.cli("toolchains", "add", others.parent, check=False).returncode == 4
    assert daemon.cli("toolchains", "add", stand_in.parents[1], check=False).returncode == 2


def test_an_added_library_changes_nothing_for_other_builds(daemon, venv):
    before = toolchains(daemon)
    add(daemon, venv)
    place = pathlib.Path(daemon.state, "releases")
    added = {str(place / name): ("12.9", False) for name in kept(daemon)}
    assert len(added) == 2 and toolchains(daemon) == {**before, **added}
    named = daemon.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, "--toolchain", "12.9", input="", check=False)
    assert b"toolchain" in named.stderr and named.returncode == 4


def test_a_release_that_an_administrator_removed_can_be_added_again(daemon, venv):
    assert add(daemon, venv / "libnvJitLink") == {"libnvJitLink.so.12": True}
    shutil.rmtree(pathlib.Path(daemon.state, "releases", "nvjitlink-12.9.86"))
    assert add(daemon, venv / "libnvJitLink") == {"libnvJitLink.so.12": True}


def test_a_user_can_not_change_the_copy(daemon, venv):
    add(daemon, venv)
    for path in pathlib.Path(daemon.state, "releases").rglob("*"):
        status = path.lstat()
        assert status.st_uid == os.geteuid() and not status.st_mode & 0o077, path


def test_a_library_with_one_changed_byte_is_refused(daemon, venv, program):
    library = files(venv)[0]
    with open(library, "r+b") as file:
        file.seek(library.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    done = daemon.cli("toolchains", "add", library, check=False)
    assert done.returncode == 4 and b"--toolchain-root" in done.stderr
    assert kept(daemon) == []


@pytest.mark.parametrize("flag", ["--release-limit", "--release-limit-per-uid"])
def test_a_release_above_a_limit_is_refused(make_daemon, flag):
    daemon = make_daemon(flag, "10MiB").start()
    done = daemon.cli("toolchains", "add", library_of(PLACES.cuda12, "libnvJitLink"), check=False)
    assert done.returncode == 4 and b"release_limit" in done.stderr
    assert kept(daemon) == []


def test_an_upload_that_stops_in_the_middle_leaves_nothing(daemon, venv):
    library = files(venv)[0].read_bytes()
    with daemon.channel() as channel:
        going = admin_pb2_grpc.AdminStub(channel).AddRelease.future(
            held_open(pieces(digests(files(venv)), library)), timeout=PATIENCE
        )
        wait_for(lambda: [each for each in kept(daemon) if each.startswith("draft.")], "a draft")
        going.cancel()
        wait_for(lambda: kept(daemon) == [], "the draft is gone")
    assert add(daemon, venv / "libnvrtc") == {"libnvrtc.so.12": True}


def held_open(messages):
    """Yields the messages, then waits for the end of the call."""
    yield from messages
    threading.Event().wait(PATIENCE)


def test_a_daemon_killed_during_an_upload_starts_without_it(daemon, venv):
    library = files(venv)[0].read_bytes()
    with daemon.channel() as channel:
        going = admin_pb2_grpc.AdminStub(channel).AddRelease.future(
            held_open(pieces(digests(files(venv)), library[: len(library) // 2])), timeout=PATIENCE
        )
        wait_for(lambda: [each for each in kept(daemon) if each.startswith("draft.")], "a draft")
        daemon.kill()
        going.exception(PATIENCE)
    daemon.start().cli("toolchains")
    assert not [each for each in kept(daemon) if each.startswith("draft.")]
