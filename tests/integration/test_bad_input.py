# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Bad input: the error names the cause and the remedy, no data is lost, and no call hangs."""

import os
import pathlib
import socket
import subprocess

import grpc
import pytest
from conftest import PLACES, build_pb2, build_pb2_grpc, nvrtc_request, run_cli

KERNEL = 'extern "C" __global__ void k() {}\n'


def refused(daemon, request, method="Build"):
    with daemon.channel() as channel:
        with pytest.raises(grpc.RpcError) as error:
            getattr(build_pb2_grpc.BuildStub(channel), method)(request)
    return error.value


@pytest.fixture(autouse=True)
def still_serving(request):
    """Checks that the daemon still builds after the test's input."""
    daemon = request.getfixturevalue("fake") if "fake" in request.fixturenames else None
    yield
    if daemon is not None:
        assert daemon.build_json(KERNEL)["outcome"] in ("built", "hit")


def test_an_unknown_arch_is_the_compilers_error(fake):
    done = fake.cli("build", "-", "--arch", "sm_9000", input=KERNEL, check=False)
    assert done.returncode == 1
    assert b"invalid value for --gpu-architecture" in done.stderr
    assert b"knows no sm_9000: `cccl-cache-cli toolchains` lists those" in done.stderr


def test_an_option_that_the_compiler_does_not_know_is_the_compilers_error(fake):
    done = fake.cli("build", "-", "--arch", "sm_90", "--option=--fake-unknown", input=KERNEL, check=False)
    assert done.returncode == 1
    assert b"unrecognized option --fake-unknown" in done.stderr
    assert b"leave it out, or name another toolchain with --toolchain" in done.stderr


def test_the_error_of_a_refused_option_has_the_reason_and_the_remedy(fake):
    done = fake.cli("build", "-", "--arch", "sm_90", "--option=-Xptxas=--options-file=/etc/passwd", input=KERNEL,
                    check=False)
    assert done.returncode == 4
    assert b"-Xptxas=--options-file=/etc/passwd: " in done.stderr
    assert b"leave it out" in done.stderr


def test_a_source_of_100_mb_is_refused_with_the_limit(fake, directory):
    source = directory / "big.cu"
    with open(source, "wb") as file:
        file.write(KERNEL.encode())
        file.write(b"// padding padding padding padding padding padding padding pad\n" * (100_000_000 // 64))
    done = fake.cli("build", str(source), "--arch", "sm_90", check=False)
    assert done.returncode == 4
    assert f"{64 << 20} bytes".encode() in done.stderr
    assert b"split the program, or move parts of it into files" in done.stderr


LTOIR_THAT_IS_NONE = {
    "nonsense": lambda whole: b"\x7fNCED not really",
    "empty": lambda whole: b"",
    "cut off": lambda whole: whole[:20],
    "half": lambda whole: whole[:len(whole) // 2],
}


@pytest.mark.parametrize("breaking", LTOIR_THAT_IS_NONE)
def test_broken_ltoir_does_not_link(real, directory, breaking):
    """The error says that an input is damaged, and advises to make it again."""
    whole, broken = directory / "whole.ltoir", directory / "x.ltoir"
    real.cli("build", "-", "--arch", "sm_90", "--emit", "ltoir", "-o", str(whole), input=KERNEL)
    broken.write_bytes(LTOIR_THAT_IS_NONE[breaking](whole.read_bytes()))
    done = real.cli("link", str(broken), "--arch", "sm_90", "--option=-lto", "-o", os.devnull, check=False)
    assert done.returncode == 1
    assert b"an input is damaged" in done.stderr and b"make it again" in done.stderr, done.stderr
    assert real.build_json(KERNEL)["outcome"] == "built"


def test_the_error_for_ltoir_of_a_newer_cuda_asks_for_another_toolchain(make_daemon, directory):
    newer = directory / "newer.ltoir"
    daemon = make_daemon(roots=(PLACES.cuda13, PLACES.cuda12)).start()
    daemon.cli("build", "-", "--arch", "sm_90", "--emit", "ltoir", "--toolchain", "13", "-o", str(newer), input=KERNEL)
    link = ("link", str(newer), "--arch", "sm_90", "--option=-lto", "-o", os.devnull)
    done = daemon.cli(*link, "--toolchain", "12", check=False)
    assert done.returncode == 1
    assert b"an input is of a newer CUDA" in done.stderr and b"--toolchain" in done.stderr, done.stderr
    assert daemon.cli(*link, "--toolchain", "13").returncode == 0


@pytest.mark.parametrize("name", ["99.9", "deadbeef"])
def test_an_unknown_toolchain_is_refused_with_a_list_of_the_present_ones(fake, toolkit, name):
    done = fake.cli("build", "-", "--arch", "sm_90", "--toolchain", name, input=KERNEL, check=False)
    assert done.returncode == 4
    told = done.stderr.decode()
    assert name in told and "Present: 13.0 (" in told and toolkit.root in told, told
    assert "Install one" in told and "--toolchain-root" in told


def test_a_message_that_is_not_protobuf_is_an_invalid_argument(fake):
    with fake.channel() as channel:
        call = channel.unary_unary("/cccl_cache.v1.Build/Build")
        with pytest.raises(grpc.RpcError) as error:
            call(b"\xff\xff\xff\xff not a message")
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "is not a cccl_cache.v1.BuildRequest: it is damaged or compressed" in error.value.details()


def test_the_error_of_an_unknown_upload_asks_for_a_new_upload(fake):
    request = nvrtc_request("")
    request.nvrtc.source.CopyFrom(build_pb2.Blob(upload_sha256=bytes(32)))
    details = refused(fake, request).details()
    assert "this user has no upload 00000000" in details and details.endswith("upload it again")


def resident_kilobytes(daemon):
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_a_client_that_stops_reading_blocks_no_other_client(fake):
    """The client requests 20 MB in chunks and never reads them. No other client waits for it, and the daemon does
    not copy the chunks that the client does not read."""
    request = nvrtc_request("//fake: output-size 20M\n", wanted=[build_pb2.ARTIFACT_KIND_CUBIN])
    with fake.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        list(stub.BuildInChunks(request))
        before = resident_kilobytes(fake)
        stuck = [stub.BuildInChunks(request) for _ in range(20)]
        for stream in stuck:
            next(stream)
        assert resident_kilobytes(fake) - before < 100_000
        assert fake.build_json(KERNEL)["outcome"] in ("built", "hit")
        for stream in stuck:
            stream.cancel()


@pytest.mark.parametrize("name, cause", [
    ("none.cu", "No such file"), ("closed.cu", "Permission denied"), ("directory.cu", "Is a directory"),
])
def test_the_error_of_an_unreadable_source_has_the_cause(directory, name, cause):
    """No daemon is asked: there is none."""
    (directory / "closed.cu").write_text(KERNEL)
    (directory / "closed.cu").chmod(0o000)
    (directory / "directory.cu").mkdir()
    user = 54321 if os.geteuid() == 0 else None  # root may read any file
    done = run_cli("--socket", str(directory / "none"), "build", str(directory / name), "--arch", "sm_90", check=False,
                   cwd="/", user=user)
    assert done.returncode == 5
    assert f"can't read {directory / name}: {cause}" in done.stderr.decode()


def start_and_fail(daemon):
    done = subprocess.run(daemon.command(), capture_output=True, timeout=60, env={"PATH": os.environ["PATH"]})
    assert done.returncode != 0
    return done.stderr.decode()


@pytest.mark.parametrize("place, words", [
    ("socket", "socket: another daemon answers on {place}: stop it, or configure another socket"),
    ("state", "state_dir: the database in {place} is locked by process {pid} of the host {host}:"),
])
def test_a_second_daemon_with_the_same_socket_or_state_ends_with_an_error(fake, make_daemon, place, words):
    """The first daemon still serves."""
    second = make_daemon(name="second")
    shared = getattr(fake, place)
    setattr(second, place, shared)
    words = words.format(place=shared, pid=fake.process.pid, host=socket.gethostname())
    assert words in start_and_fail(second)


@pytest.mark.parametrize("setting, value, way_out", [
    ("state_dir", "/proc/nowhere/state", "Give that user write access"),
    ("remote_url", "redis.example", "give redis://"),
    ("remote_password_file", "/proc/nowhere/password", "can read"),
    ("remote_key", "/proc/nowhere/key", "can read"),
    ("remote_trust", "/proc/nowhere/keys", "can read"),
    ("remote_deposits", "no-such-group", "groupadd"),
    ("socket_group", "no-such-group", "groupadd"),
    ("admin_group", "no-such-group", "groupadd"),
    ("container_socket", "/proc/nowhere/socket", "choose another directory"),
])
def test_the_error_of_a_wrong_setting_begins_with_its_name(make_daemon, setting, value, way_out):
    flags = {"remote_url": "unix:///nowhere"} if setting.startswith("remote_") else {}
    flags[setting] = value
    daemon = make_daemon(*(word for name, value in flags.items() for word in ("--" + name.replace("_", "-"), value)))
    message = start_and_fail(daemon)
    assert message.startswith(f"cccl-cached: {setting}: ") and way_out in message
