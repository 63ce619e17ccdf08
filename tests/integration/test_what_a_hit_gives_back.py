# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A hit returns all outputs of the compile, byte for byte: from memory, and from disk after a restart."""

import pytest
from conftest import PLACES, build_pb2, build_pb2_grpc, nvrtc_request
from raw import SEED, raw, text_of

PTX, CUBIN = build_pb2.ARTIFACT_KIND_PTX, build_pb2.ARTIFACT_KIND_CUBIN
PROGRAM = """#include <own.h>
namespace { __device__ int counter; }
template <int I> __global__ void t(int* p) { *p = I + counter; }
extern "C" __global__ void k(int* p) { *p = 3; }
__global__ void unused() { int never; }
"""
CALLER = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) { ret; }
"""
MODULE = """
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-\
v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @%s(float* %%p) {
  store float 1.0, float* %%p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float*)* @%s, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
!llvm.module.flags = !{!2}
!2 = !{i32 2, !"flag", i32 %d}
"""


@pytest.fixture
def ask_thrice(make_daemon):
    """Sends a request three times: a miss, a hit from memory, and a hit from disk. Checks that the replies are equal
    and returns the first."""
    daemon = make_daemon(roots=(PLACES.cuda13,)).start()

    def ask(request):
        with daemon.channel() as channel:
            return build_pb2_grpc.BuildStub(channel).Build(request)

    def ask_thrice(request):
        built, from_memory = ask(request), ask(request)
        daemon.stop()
        daemon.start()
        from_disk = ask(request)
        assert (built.outcome, built.tier) == (build_pb2.OUTCOME_BUILT, build_pb2.TIER_NONE)
        assert (from_memory.outcome, from_memory.tier) == (build_pb2.OUTCOME_HIT, build_pb2.TIER_MEMORY)
        assert (from_disk.outcome, from_disk.tier) == (build_pb2.OUTCOME_HIT, build_pb2.TIER_DISK)
        for hit in (from_memory, from_disk):
            for field in ("key", "fingerprint", "log", "native_code"):
                assert getattr(hit, field) == getattr(built, field)
            assert list(hit.lowered_names) == list(built.lowered_names)
            assert list(hit.artifacts) == list(built.artifacts)
        assert built.artifacts
        return built

    return ask_thrice


@pytest.mark.parametrize("options", ((), ("-dlto",)), ids=("cubin and PTX", "LTO-IR"))
def test_a_hit_returns_the_outputs_names_and_warnings_of_a_program(ask_thrice, directory, options):
    """The log is that of raw NVRTC if it names no paths."""
    (directory / "own.h").write_text("#warning careful\n")
    name, include = str(directory / "k.cu"), f"-I{directory}"
    expressions = ["t<1>", "&t<3 + 4>", "k"]
    request = nvrtc_request(PROGRAM, SEED, include, *options, name=name, working_directory="/")
    request.nvrtc.name_expressions.extend(expressions)
    built = ask_thrice(request)
    assert sorted(name.expression for name in built.lowered_names) == sorted(expressions)
    assert all(name.lowered for name in built.lowered_names)
    expected = raw(kind="nvrtc", root=PLACES.cuda13, source=PROGRAM, name=name, cwd="/", name_expressions=expressions,
                   options=["-arch=sm_90", SEED, include, *options])
    assert built.log.rstrip("\0\n") == expected["log"].rstrip(b"\0\n").decode()
    got = {each.kind: each.contents for each in built.artifacts}
    if options:
        assert list(got) == [build_pb2.ARTIFACT_KIND_LTOIR]
    else:
        assert got[CUBIN] == expected["cubin"]
        assert text_of(got[PTX]) == text_of(expected["ptx"])


def test_a_hit_returns_the_output_and_the_log_of_a_link(ask_thrice):
    """The log has the time of the assembler, which differs in each run. A hit returns the time of the first run."""
    program = build_pb2.LinkProgram(options=("-arch=sm_90", "-verbose"))
    program.inputs.add(type=build_pb2.LINK_INPUT_TYPE_PTX, name="k.ptx",
                       contents=build_pb2.Blob(inline_bytes=CALLER.encode()))
    built = ask_thrice(build_pb2.BuildRequest(link=program))
    assert "Compiling entry function 'k'" in built.log
    assert [each.kind for each in built.artifacts] == [CUBIN]


def test_a_hit_returns_the_output_and_the_warnings_of_an_nvvm_module(ask_thrice):
    program = build_pb2.NvvmProgram(options=("-arch=compute_90",))
    for number, name in enumerate(("one", "two")):
        program.modules.add(name=name, contents=build_pb2.Blob(inline_bytes=(MODULE % (name, name, number)).encode()))
    built = ask_thrice(build_pb2.BuildRequest(nvvm=program))
    assert "linking module flags 'flag': IDs have conflicting values" in built.log
    assert [each.kind for each in built.artifacts] == [PTX]
