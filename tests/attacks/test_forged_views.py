# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Clients that falsely claim the daemon's own view of files, or its rights.

test_forged_views.py SOCKET UID ENTER FILE PID becomes UID, confines itself as ENTER says, and requests a program that
includes FILE. The request claims the view of files that the process had before, and has as much of the secret of the daemon
PID as the process can find. Prints "reads" if it can open FILE as the daemon sees it. Then prints the outcome, or the error
code and the message.
"""

import contextlib
import ctypes
import os
import pathlib
import struct
import subprocess
import sys

import pytest

from bystander import ATTACKER

SERVICE = ATTACKER + 7
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_RESTRICT_SELF = 444, 446
CAPABILITY_VERSION_3 = 0x20080522
LANDLOCK_READ_FILE = 1 << 2


def claim(daemon, uid, enter, file, socket=None):
    return subprocess.run(
        [sys.executable, __file__, socket or daemon.socket, str(uid), enter, str(file), str(daemon.process.pid)],
        stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


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


def test_a_process_with_only_the_daemons_uid_gets_no_file_of_the_daemon(make_daemon, container_socket, directory):
    daemon = start(make_daemon, container_socket, SERVICE)
    file = header(directory, SERVICE, 0o600)
    assert claim(daemon, SERVICE, "nothing", file) == "reads OUTCOME_BUILT"
    # Through /proc/PID/root it could open the file.
    assert claim(daemon, SERVICE, "mounts", file) == "reads OUTCOME_HIT"
    assert claim(daemon, SERVICE, "guess", file).startswith("reads files-needed")
    for enter in "processes", "root", "users", "users_and_mounts", "group", "landlock":
        assert claim(daemon, SERVICE, enter, file).startswith("files-needed"), enter


def test_a_confined_root_gets_no_file_through_a_daemon_that_is_root(make_daemon, container_socket, directory):
    daemon = start(make_daemon, container_socket)
    file = header(directory, ATTACKER, 0o600)
    assert claim(daemon, 0, "nothing", file) == "reads OUTCOME_BUILT"
    for enter in "processes", "root", "users_and_mounts", "capabilities", "landlock":
        assert claim(daemon, 0, enter, file).startswith("files-needed"), enter


@pytest.mark.parametrize("uid", [None, SERVICE], ids=["root", "service"])
def test_no_file_is_read_for_a_client_at_a_container_socket(make_daemon, container_socket, directory, uid):
    daemon = start(make_daemon, container_socket, uid)
    file = header(directory, 0, 0o644)
    assert claim(daemon, ATTACKER, "nothing", file) == "OUTCOME_BUILT"
    for caller in 0, SERVICE, ATTACKER:
        for enter in "nothing", "mounts":
            assert claim(daemon, caller, enter, file, container_socket).removeprefix("reads ").startswith("files-needed"), (caller, enter)


def test_no_client_gets_the_daemons_configuration_as_a_header(make_daemon, container_socket, directory):
    configuration = directory / "config.toml"
    configuration.write_text("queue_limit = 100\n")
    configuration.chmod(0o644)
    (directory / "link").symlink_to(configuration)
    daemon = start(make_daemon, container_socket, flags=("--config", str(configuration)))
    for caller in 0, ATTACKER:
        for file in configuration, directory / "link":
            assert "no build gets files from" in claim(daemon, caller, "nothing", file)


def enter(name):
    libc = ctypes.CDLL(None)
    flags = {"mounts": CLONE_NEWNS, "processes": CLONE_NEWNS | CLONE_NEWPID, "users": CLONE_NEWUSER,
             "users_and_mounts": CLONE_NEWUSER | CLONE_NEWNS}.get(name, 0)
    if flags:
        assert libc.unshare(flags) == 0
    if flags & CLONE_NEWNS and not flags & CLONE_NEWUSER:
        assert libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0
    if name == "processes":
        if child := os.fork():
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        assert libc.mount(b"proc", b"/proc", b"proc", 0, None) == 0
    if name == "root":
        os.chroot("/tmp")
    if name == "group":
        os.setresgid(ATTACKER, ATTACKER, ATTACKER)
    if name == "capabilities":
        assert libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24)) == 0
    if name == "landlock":
        rules = libc.syscall(SYS_LANDLOCK_CREATE_RULESET, struct.pack("Q", LANDLOCK_READ_FILE), 8, 0)
        assert rules >= 0, "this kernel has no Landlock"
        assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        assert libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, rules, 0) == 0


def reads(pid, file):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/root{file}"):
        return True
    return False


def run(socket, uid, name, file, pid):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
    import grpc
    from stock_requests import nvrtc_request, rights_of

    from cccl_cache.v1 import build_pb2, build_pb2_grpc

    request = nvrtc_request(f'#include "{file}"\nextern "C" __global__ void k() {{}}\n')
    os.chdir("/")
    first_as_root = name in ("mounts", "processes", "root", "group")
    if name in ("root", "landlock"):
        # Loads all modules while their files can still be found.
        with contextlib.suppress(grpc.RpcError):
            build_pb2_grpc.BuildStub(grpc.insecure_channel("unix:nowhere")).Build(request, timeout=60)
    if first_as_root:
        enter(name)
    os.setgroups([])
    os.setresuid(uid, uid, uid)  # the group is still the daemon's
    # A program that this user starts is dumpable.
    assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0
    if not first_as_root:
        enter(name)
    rights = [("cccl-rights", "0" * 64)] if name == "guess" else rights_of(pid)
    channel = grpc.insecure_channel(f"unix:{socket[1:]}")  # the relative name works from any root directory
    if reads(pid, file):
        print("reads", end=" ")
    try:
        reply = build_pb2_grpc.BuildStub(channel).Build(request, timeout=60, metadata=rights)
        print(build_pb2.Outcome.Name(reply.outcome))
    except grpc.RpcError as error:
        print(f"{dict(error.trailing_metadata()).get('cccl-error')}: {error.details()}")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
