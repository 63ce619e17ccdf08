# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A client whose files the daemon can't open. It sends the files that the daemon asks for, and gets the same results
as a client beside the daemon. The tests run as root, to mount and to become other users."""

import hashlib
import os
import pathlib
import queue
import shutil
import subprocess
import sys

import grpc
import pytest
from client_elsewhere import KERNEL, ONE, TWO, build_command, build_here, elsewhere, run, told, tree  # noqa: F401
from conftest import PATIENCE, PLACES, build_pb2, build_pb2_grpc, nvrtc_request, wait_for

ALICE = 54321
REDUCE = """#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(int* p) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  int sum = Reduce(storage).Sum(p[threadIdx.x]);
  if (threadIdx.x == 0) *p = sum;
}
"""


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must mount and become other users"


@pytest.fixture
def shared(make_daemon):
    """A daemon over CUDA 13 with a socket for all users."""
    return make_daemon("--socket-mode", "0666", roots=(PLACES.cuda13,)).start()


def test_a_client_in_another_mount_namespace_gets_the_same_results(shared, directory, elsewhere):
    tree(elsewhere.inside, value=ONE)
    tree(elsewhere.place, value=TWO)  # the file that the daemon would find under the same name
    built, cubin = elsewhere.build(shared)
    assert built["outcome"] == "built"
    again, same = elsewhere.build(shared)
    assert (again["outcome"], again["key"], same) == ("hit", built["key"], cubin)
    tree(directory / "here", value=ONE)
    here, same = build_here(shared, directory / "here")
    assert (here["outcome"], here["key"], same) == ("hit", built["key"], cubin)


def test_a_build_beside_the_daemon_is_a_hit_for_a_client_elsewhere(shared, directory, elsewhere):
    tree(directory / "here", value=ONE)
    here, cubin = build_here(shared, directory / "here")
    assert here["outcome"] == "built"
    tree(elsewhere.inside, value=ONE)
    built, same = elsewhere.build(shared)
    assert (built["outcome"], built["key"], same) == ("hit", here["key"], cubin)


def test_a_changed_header_and_a_header_that_is_found_earlier_are_misses(shared, elsewhere):
    tree(elsewhere.inside, value=ONE)
    first, cubin = elsewhere.build(shared)
    tree(elsewhere.inside, value=TWO)
    changed, other = elsewhere.build(shared)
    assert changed["outcome"] == "built" and changed["key"] != first["key"] and other != cubin
    (elsewhere.inside / "second" / "value.h").write_text(ONE)
    earlier, same = elsewhere.build(shared)
    assert earlier["outcome"] == "built" and same == cubin
    (elsewhere.inside / "second" / "value.h").unlink()
    tree(elsewhere.inside, value=ONE)
    back, same = elsewhere.build(shared)
    assert (back["outcome"], back["key"], same) == ("hit", first["key"], cubin)


def test_a_client_with_a_bind_mount_below_an_include_directory_gets_its_own_header(shared, directory, elsewhere):
    """The root itself is the same directory on both sides."""
    source = KERNEL.replace("value.h", "below/value.h")
    root = directory / "root"
    (root / "below").mkdir(parents=True)
    (root / "below" / "value.h").write_text(ONE)
    tree(elsewhere.inside)
    (elsewhere.inside / "mounted").mkdir()
    (elsewhere.inside / "mounted" / "value.h").write_text(TWO)
    mounted = str(elsewhere.place / "mounted")
    subprocess.run(elsewhere.command("mount", "--bind", mounted, str(root / "below")), check=True)
    _, there = elsewhere.build(shared, source, f"-I{root}")
    tree(directory / "here")
    _, here = build_here(shared, directory / "here", source, f"-I{root}")
    assert there != here
    (root / "below" / "value.h").write_text(TWO)
    again, here = build_here(shared, directory / "here", source, f"-I{root}")
    assert again["outcome"] == "hit" and there == here


def test_headers_in_a_closed_home_are_sent_by_their_owner(shared, directory):
    home = directory / "home"
    tree(home, value=ONE)
    for path in (home, *home.rglob("*")):
        os.chown(path, ALICE, ALICE)
    home.chmod(0o700)
    # A daemon that runs as root could read the files, but must not read them for other users.
    built, cubin = build_here(shared, home, user=ALICE)
    assert built["outcome"] == "built"
    assert build_here(shared, home, user=ALICE)[0]["outcome"] == "hit"
    tree(directory / "open", value=ONE)
    here, same = build_here(shared, directory / "open")
    assert (here["outcome"], here["key"], same) == ("hit", built["key"], cubin)


def test_a_file_that_the_client_may_not_read_is_an_error_that_names_it(shared, directory):
    home = directory / "home"
    tree(home, value=ONE)
    for path in (home, home / "first", home / "second"):
        os.chown(path, ALICE, ALICE)
    home.chmod(0o700)
    (home / "first" / "value.h").chmod(0o600)  # only root may read it
    done = run(build_command(shared, home), cwd=home, user=ALICE)
    assert done.returncode == 4
    assert str(home / "first" / "value.h").encode() in done.stderr
    assert b"Permission denied: you may not read it" in done.stderr


def test_a_client_does_not_open_a_fifo_as_a_header(shared, elsewhere):
    tree(elsewhere.inside)
    os.mkfifo(elsewhere.inside / "first" / "value.h")
    done = run(elsewhere.command(*build_command(shared, elsewhere.place)))
    assert done.returncode == 4
    assert b"no regular file" in done.stderr


def test_a_program_over_a_copy_of_cccl_gives_the_same_cubin_elsewhere(shared, directory, elsewhere):
    places = {True: elsewhere.place, False: directory / "here"}
    for place in (elsewhere.inside, places[False]):
        tree(place)
        shutil.copytree(pathlib.Path(PLACES.cuda13, "include", "cccl"), place / "cccl")
    built, cubin = elsewhere.build(shared, REDUCE, f"-I{places[True] / 'cccl'}")
    assert built["outcome"] == "built"
    again, same = elsewhere.build(shared, REDUCE, f"-I{places[True] / 'cccl'}")
    assert (again["outcome"], same) == ("hit", cubin)
    _, same = build_here(shared, places[False], REDUCE, f"-I{places[False] / 'cccl'}")
    assert same == cubin


class Caller:
    """A stock gRPC client that is, or claims to be, in another namespace. The constructor sends its request."""

    def __init__(self, daemon):
        self.messages = queue.SimpleQueue()
        self.channel = daemon.channel()
        request = nvrtc_request(KERNEL, "-I/elsewhere")
        request.files_view.mount_namespace += 1
        self.messages.put(build_pb2.BuildWithFilesRequest(build=request))
        self.stream = build_pb2_grpc.BuildStub(self.channel).BuildWithFiles(iter(self.messages.get, None))

    def answer(self, **fields):
        self.messages.put(build_pb2.BuildWithFilesRequest(answers=[build_pb2.FileAnswer(**fields)]))

    def questions(self):
        """Returns the next questions of the daemon. Empty if the answer is next."""
        return [(question.path.decode(), question.contents) for question in next(self.stream).questions]

    def send(self, text, claim=None):
        """Answers the daemon's questions until the build is answered. The only file has this text, and `claim` is
        the digest that the client gives for it. Returns the artifacts."""
        while asked := self.questions():
            for path, contents in asked:
                if path != "/elsewhere/value.h":
                    self.answer(kind=build_pb2.FILE_KIND_ABSENT)
                elif claim and not contents:
                    self.answer(kind=build_pb2.FILE_KIND_REGULAR, inode=1, size=1, sha256=hashlib.sha256(claim).digest())
                else:
                    self.answer(kind=build_pb2.FILE_KIND_REGULAR, inode=1, size=len(text), contents=text)
        return b"".join(message.data for message in self.stream)

    def close(self):
        self.messages.put(None)
        self.channel.close()


@pytest.fixture
def call(shared):
    made = []

    def make():
        made.append(Caller(shared))
        return made[-1]

    yield make
    for caller in made:
        caller.close()


def test_a_client_with_a_false_digest_gets_the_result_of_its_sent_contents(shared, call, directory):
    """The client knows only the digest of another user's header."""
    (directory / "elsewhere").mkdir()
    (directory / "elsewhere" / "value.h").write_text(TWO)
    with shared.channel() as channel:
        request = nvrtc_request(KERNEL, f"-I{directory}/elsewhere")
        reply = build_pb2_grpc.BuildStub(channel).Build(request)
    secret = b"".join(artifact.contents for artifact in reply.artifacts)
    honest = call().send(ONE.encode())
    assert honest != secret
    assert call().send(ONE.encode(), claim=TWO.encode()) == honest
    assert call().send(TWO.encode()) == secret


def test_a_client_that_leaves_during_its_build_does_not_end_another_clients_build(shared, call):
    leaving = call()
    assert leaving.questions()
    waiting = call()
    wait_for(lambda: shared.stats()["builds_total"] == 2, "the second build")
    leaving.stream.cancel()
    assert waiting.send(ONE.encode())
    wait_for(lambda: shared.stats()["in_flight"] == 0, "the compile's end")


STOPS_WHEN_ASKED = """
import signal, sys
sys.path.insert(0, sys.argv[2])
import grpc
from cccl_cache.v1 import build_pb2, build_pb2_grpc
program = build_pb2.NvrtcProgram(source=build_pb2.Blob(inline_bytes=b"#include <value.h>"),
                                 options=["-arch=sm_90", "-I/elsewhere"])
def messages():
    yield build_pb2.BuildWithFilesRequest(build=build_pb2.BuildRequest(nvrtc=program))
    signal.pause()
with grpc.insecure_channel("unix:" + sys.argv[1]) as channel:
    for reply in build_pb2_grpc.BuildStub(channel).BuildWithFiles(messages()):
        print("asked", flush=True)
"""


def test_the_build_of_a_killed_client_ends(shared, call):
    client = subprocess.Popen(
        [sys.executable, "-c", STOPS_WHEN_ASKED, shared.socket, PLACES.stubs], stdout=subprocess.PIPE)
    assert client.stdout.readline() == b"asked\n"
    client.kill()
    client.wait(PATIENCE)
    client.stdout.close()
    wait_for(lambda: shared.stats()["in_flight"] == 0, "the compile's end")
    assert call().send(ONE.encode())


@pytest.mark.parametrize("message", [b"", b"\xff" * 100], ids=["nothing", "garbage"])
def test_a_stream_that_does_not_begin_with_a_build_is_refused_with_the_reason(shared, call, message):
    with shared.channel() as channel:
        talk = channel.stream_stream("/cccl_cache.v1.Build/BuildWithFiles")
        with pytest.raises(grpc.RpcError) as error:
            list(talk(iter([message])))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert call().send(ONE.encode())


def test_a_client_under_a_bind_mount_of_the_root_is_elsewhere(make_daemon, directory):
    """The device and inode of its "/" are the daemon's, but a mount that the daemon sees is missing below it."""
    work, copy = directory / "work", directory / "copy"
    tree(work, value=TWO)
    copy.mkdir()
    script = """
mount -t tmpfs none "$1" && printf '%s' "$3" > "$1/value.h" &&
mount --rbind / "$2" && umount "$2$1" && echo ready && exec cat
"""
    shell = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", str(work / "first"), str(copy), ONE],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert shell.stdout.readline() == b"ready\n"
        enter = ["nsenter", f"--mount=/proc/{shell.pid}/ns/mnt"]
        daemon = make_daemon(roots=(PLACES.cuda13,), launcher=enter).start()
        told(run([*enter, *build_command(daemon, work)]))
        one = (work / "out.cubin").read_bytes()
        told(run([*enter, "chroot", str(copy), *build_command(daemon, work)]))
        assert (work / "out.cubin").read_bytes() != one
        daemon.stop()
    finally:
        shell.stdin.close()
        shell.wait(PATIENCE)
        shell.stdout.close()
