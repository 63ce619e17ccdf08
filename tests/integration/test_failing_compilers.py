# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A compiler that crashes, hangs or fills the memory ends only its own build."""

import os

import grpc
import pytest
from conftest import PLACES, build_pb2, build_pb2_grpc, nvrtc_request, wait_for

GOOD = 'extern "C" __global__ void good() {}\n'


def ask(daemon, source, **fields):
    """Returns the reply, or the error with its `cccl-error`."""
    with daemon.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        try:
            return stub.Build(nvrtc_request(source, **fields)), None
        except grpc.RpcError as error:
            return error, dict(error.trailing_metadata()).get("cccl-error")


def assert_goes_on(daemon):
    assert daemon.build_json(GOOD)["outcome"] in ("built", "hit")
    assert daemon.process.poll() is None


@pytest.mark.parametrize("command, tries", [("crash", 1), ("abort", 1), ("recurse", 1), ("exit 7", 2)])
def test_a_crash_of_the_compiler_fails_the_build_and_may_quarantine_it(fake, command, tries):
    """A build that crashed twice by its own signal is quarantined for this uid. A build that the machine may have
    killed is not."""
    error, name = ask(fake, f"//fake: {command}\n")
    assert error.code() == grpc.StatusCode.INTERNAL, error
    assert name == "worker-crashed"
    statistics = fake.stats()
    assert statistics["compiles_total"] == 1
    assert statistics["retries_total"] == 1
    ask(fake, f"//fake: {command}\n")
    assert fake.stats()["compiles_total"] == tries


DEEPER = """
template <int depth, unsigned long long path> struct Deeper {
  static constexpr int value = Deeper<depth + 1, 2 * path>::value + Deeper<depth + 1, 2 * path + 1>::value;
};
"""
BOTTOM = "template <unsigned long long path> struct Deeper<60, path> { static constexpr int value = 1; };\n"
USE = "__device__ int value = Deeper<0, 0>::value;\n"


def test_template_recursion_without_a_bottom_is_the_compilers_error(real):
    reply, _ = ask(real, DEEPER + USE)
    assert reply.outcome == build_pb2.OUTCOME_FAILED
    assert "recursion" in reply.log
    assert_goes_on(real)


def test_template_recursion_without_an_end_ends_at_the_deadline(make_daemon):
    """The recursion is no deeper than the compiler allows, but has 2^60 instances."""
    daemon = make_daemon("--build-timeout", "3s", roots=(PLACES.cuda13,)).start()
    error, name = ask(daemon, DEEPER + BOTTOM + USE)
    assert name == "timed-out", error
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert daemon.stats()["timeouts_total"] == 1
    assert_goes_on(daemon)


REDUCE = """#include <cub/cub.cuh>
extern "C" __global__ void k(int* p) {
  using Block = cub::BlockReduce<int, 128>;
  __shared__ typename Block::TempStorage storage;
  *p = Block(storage).Sum(p[threadIdx.x]);
}
"""


@pytest.mark.parametrize("limit, program", [
    ("96MiB", REDUCE),  # "cub/...(12): catastrophic error: out of memory"
    ("412MiB", f'__device__ const char text[] = "{"a" * 60_000_000}";\n'),  # "Catastrophic error: out of memory"
    ("512MiB", "__device__ char table[1u << 30] = {1};\n"),  # abort()
    ("700MiB", "__device__ char table[45u << 20] = {1};\n"),  # the same, far below the limit
], ids=["among headers", "in the program", "without a word", "in one large piece"])
def test_nvrtc_without_memory_is_an_error_that_is_not_remembered(make_daemon, directory, limit, program):
    """The messages and the exit are those of NVRTC itself, which the fake compiler only imitates."""
    daemon = make_daemon("--worker-memory-limit", limit, roots=(PLACES.cuda13,)).start()
    source = directory / "large.cu"
    source.write_text(program)
    for compiles in (1, 2):
        done = daemon.cli("--json", "build", str(source), "--arch", "sm_90", "-o", os.devnull, check=False)
        assert done.returncode == 5, done.stdout
        assert b"the compiler ran out of memory" in done.stderr, done.stderr
        assert daemon.stats()["compiles_total"] == compiles
    assert_goes_on(daemon)


def test_nvjitlink_without_memory_is_an_error_that_is_not_remembered(make_daemon):
    """nvJitLink is refused one large allocation, far below the limit. It prints "ERROR 3: ptxjit", as for any PTX
    that it rejects."""
    daemon = make_daemon("--worker-memory-limit", "700MiB", roots=(PLACES.cuda13,)).start()
    ptx = (".version 8.0\n.target sm_90\n.address_size 64\n"
           f".visible .global .align 1 .b8 table[{120 << 20}] = {{1, 7}};\n")
    program = build_pb2.LinkProgram(options=["-arch=sm_90", "-O0"])
    program.inputs.add(type=build_pb2.LINK_INPUT_TYPE_PTX, name="x.ptx",
                       contents=build_pb2.Blob(inline_bytes=ptx.encode()))
    with daemon.channel() as channel:
        for compiles in (1, 2):
            with pytest.raises(grpc.RpcError) as refused:
                build_pb2_grpc.BuildStub(channel).Build(build_pb2.BuildRequest(link=program))
            assert dict(refused.value.trailing_metadata())["cccl-error"] == "out-of-memory"
            assert daemon.stats()["compiles_total"] == compiles


@pytest.mark.parametrize("program", [
    "__device__ int x = " + "(" * 200_000 + "1" + ")" * 200_000 + ";\n",
    "__device__ int x = " + "- " * 400_000 + "1;\n",
], ids=["parentheses", "operators"])
def test_a_crash_of_nvrtc_is_an_error_that_is_not_remembered(real, program):
    """NVRTC overflows its stack. The quarantine is in memory alone, so a restart ends it."""
    for compiles in (1, 2):
        error, name = ask(real, program)
        assert name == "worker-crashed", error
        assert "SIGSEGV" in error.details()
        assert real.stats()["compiles_total"] == compiles
        real.stop()
        real.start()
    assert_goes_on(real)


def test_a_worker_that_writes_junk_into_every_descriptor_affects_no_other_job(make_daemon):
    daemon = make_daemon("--build-timeout", "10s").start()
    for command in ("flood", "say hello"):
        error, name = ask(daemon, f"//fake: {command}\n")
        assert name in ("worker-crashed", "timed-out"), error
    assert_goes_on(daemon)


def test_failed_builds_leave_no_process_and_no_descriptor(fake):
    """The builds fail in every way that the fake compiler has."""

    def descriptors():
        return len(os.listdir(f"/proc/{fake.process.pid}/fd"))

    def round_of_failures(number):
        for command in ("crash", "exit 3", "fail no", "say x"):
            ask(fake, f"// {number}\n//fake: {command}\n")

    round_of_failures(0)
    children, before = len(fake.children()), descriptors()
    for number in range(1, 5):
        round_of_failures(number)
    wait_for(lambda: len(fake.children()) <= children, "the workers' end")
    wait_for(lambda: descriptors() <= before + 2, "descriptors closed")
