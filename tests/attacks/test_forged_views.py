# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Clients that claim the daemon's own view of files, which they do not have.

test_forged_views.py SOCKET UID ENTER FILE: becomes UID behind ENTER and asks for a program that includes FILE, with the
view of files that it had before. Prints the outcome, or the error code and the message.
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys

import pytest

from bystander import ATTACKER

SERVICE = ATTACKER + 7
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_DUMPABLE = 4


def claim(socket, uid, enter, file):
    return subprocess.run(
        [sys.executable, __file__, socket, str(uid), enter, str(file)], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@pytest.fixture
def container_socket(directory):
    return str(directory / "containers" / "socket")


def start(make_daemon, container_socket, uid=None, flags=()):
    daemon = make_daemon("--socket-mode", "0666", "--container-socket", container_socket, *flags, uid=uid)
    if uid is not None:
        pathlib.Path(container_socket).parent.mkdir()
        for place in (daemon.directory, pathlib.Path(container_socket).parent):
            os.chown(place, uid, uid)
    return daemon.start()


def header(place, owner, mode):
    file = place / "secret.h"
    file.write_text("// secret\n")
    os.chown(file, owner, owner)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("enter", ["mounts", "root", "users_and_mounts", "undumpable"])
def test_the_daemons_uid_alone_reads_no_file_of_the_daemons(make_daemon, container_socket, directory, enter):
    daemon = start(make_daemon, container_socket, SERVICE)
    file = header(directory, SERVICE, 0o600)
    assert claim(daemon.socket, SERVICE, "nothing", file) == "OUTCOME_BUILT"
    assert claim(daemon.socket, SERVICE, "users", file) == "OUTCOME_HIT"
    assert claim(daemon.socket, SERVICE, enter, file).startswith("files-needed"), enter


def test_root_in_another_mount_namespace_reads_no_file_of_a_daemon_that_is_root(make_daemon, container_socket, directory):
    daemon = start(make_daemon, container_socket)
    file = header(directory, 0, 0o600)
    assert claim(daemon.socket, 0, "nothing", file) == "OUTCOME_BUILT"
    for enter in "mounts", "root", "users_and_mounts":
        assert claim(daemon.socket, 0, enter, file).startswith("files-needed"), enter


@pytest.mark.parametrize("uid", [None, SERVICE], ids=["root", "service"])
def test_no_file_is_read_for_a_client_at_a_container_socket(make_daemon, container_socket, directory, uid):
    daemon = start(make_daemon, container_socket, uid)
    file = header(directory, 0, 0o644)
    assert claim(daemon.socket, ATTACKER, "nothing", file) == "OUTCOME_BUILT"
    for caller in 0, SERVICE, ATTACKER:
        for enter in "nothing", "mounts":
            assert claim(container_socket, caller, enter, file).startswith("files-needed"), (caller, enter)


def test_the_configuration_is_given_to_no_client(make_daemon, container_socket, directory):
    configuration = directory / "config.toml"
    configuration.write_text("queue_limit = 100\n")
    configuration.chmod(0o644)
    (directory / "link").symlink_to(configuration)
    daemon = start(make_daemon, container_socket, flags=("--config", str(configuration)))
    for caller in 0, ATTACKER:
        for file in configuration, directory / "link":
            assert "no build gets files from" in claim(daemon.socket, caller, "nothing", file)


def enter(name):
    libc = ctypes.CDLL(None)
    flags = {"mounts": CLONE_NEWNS, "users": CLONE_NEWUSER, "users_and_mounts": CLONE_NEWUSER | CLONE_NEWNS}.get(name, 0)
    if flags:
        assert libc.unshare(flags) == 0
    if name == "mounts":
        assert libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0


def run(socket, uid, name, file):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
    import grpc
    from stock_requests import nvrtc_request

    from cccl_cache.v1 import build_pb2, build_pb2_grpc

    request = nvrtc_request(f'#include "{file}"\nextern "C" __global__ void k() {{}}\n')
    os.chdir("/")
    if name == "mounts":
        enter(name)
    if name == "root":
        # Has all modules loaded before they can't be found any more.
        with contextlib.suppress(grpc.RpcError):
            build_pb2_grpc.BuildStub(grpc.insecure_channel("unix:nowhere")).Build(request, timeout=60)
        os.chroot("/tmp")
    os.setgroups([])
    os.setresuid(uid, uid, uid)  # the group stays the daemon's
    # As a program that this user started.
    assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, name != "undumpable", 0, 0, 0) == 0
    if name.startswith("users"):
        enter(name)
    channel = grpc.insecure_channel(f"unix:{socket[1:]}")  # a relative name leads there from any root
    try:
        print(build_pb2.Outcome.Name(build_pb2_grpc.BuildStub(channel).Build(request, timeout=60).outcome))
    except grpc.RpcError as error:
        print(f"{dict(error.trailing_metadata()).get('cccl-error')}: {error.details()}")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
