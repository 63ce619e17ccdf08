# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever can change a byte of an answer gives another key. Each row of the tables differs from its base in one thing;
where that changes the output or the log, the bytes prove it."""

import pytest
from conftest import PLACES, Daemon, build_pb2, build_pb2_grpc, files_view, wait_for

SOURCE = """
#if __has_include("x.h")
#include "x.h"
#endif
#ifndef N
#define N 3
#endif
static __device__ int unused_variable;
namespace { __device__ int counter; __device__ __noinline__ float f(float x) { return x / 3.0f + counter; } }
template <int I> __global__ void t(int* p) { *p = I; }
extern "C" __global__ void k(float* p, const float* q, int n) {
  int never_used;
  p[0] = sqrtf(q[0]) / q[1] + q[2] * q[3];
  p[1] = f(q[4]) + N;
  for (int i = 0; i < n; ++i) p[i] += expf(q[i]) * 1e-39f;
  if (__cplusplus > 201703L) p[2] = 1;
#ifdef __CUDA_FP16_H__
  p[3] = 1;
#endif
}
"""
OP = 'extern "C" __device__ int op(int a, int b) { return a + b; }\n'
OTHER_OP = 'extern "C" __device__ int op(int a, int b) { return a * b; }\n'
CALLER = 'extern "C" __device__ int op(int, int);\nextern "C" __global__ void k(int* p) { *p = op(p[1], p[2]); }\n'
MODULE = """
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-\
v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare float @__nv_expf(float)
define void @k(float* %p) {
  %v = load float, float* %p
  %d = fdiv float %v, 3.0
  store float %d, float* %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float*)* @k, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
"""
CODE, LOG, NOTHING = "code", "log", "nothing"  # what shows the difference


def nvrtc(**changes):
    """A request with these fields of the program or the request set anew."""
    program = build_pb2.NvrtcProgram(
        source=build_pb2.Blob(inline_bytes=changes.pop("source", SOURCE).encode()),
        name=changes.pop("name", "kernel.cu"), options=["-arch=" + changes.pop("arch", "sm_90")],
        append_toolchain_headers=changes.pop("append_toolchain_headers", True),
        name_expressions=changes.pop("name_expressions", ()),
    )
    program.options.extend(changes.pop("options", ()))
    for name, text in changes.pop("headers", ()):
        program.headers.add(name=name, contents=build_pb2.Blob(inline_bytes=text.encode()))
    for name, value in changes.pop("environment", ()):
        program.environment.add(name=name, value=value)
    return build_pb2.BuildRequest(nvrtc=program, files_view=files_view(), **{"working_directory": "/", **changes})


def option(*words, shows=NOTHING):
    return " ".join(words), {"options": words}, shows


NVRTC_FIELDS = (
    ("source", {"source": SOURCE + "__device__ int more;\n"}, CODE),
    ("source: white space", {"source": SOURCE + "\n"}, NOTHING),
    ("source: empty", {"source": ""}, CODE),
    ("name", {"name": "other.cu"}, CODE),
    ("no name", {"name": ""}, CODE),
    ("architecture", {"arch": "sm_80"}, CODE),
    ("virtual architecture", {"arch": "compute_90"}, CODE),
    ("name expression", {"name_expressions": ["t<1>"]}, CODE),
    ("other name expression", {"name_expressions": ["t<2>"]}, CODE),
    ("two name expressions", {"name_expressions": ["t<1>", "t<2>"]}, CODE),
    ("header", {"headers": [("x.h", "#define N 4\n")]}, CODE),
    ("header's contents", {"headers": [("x.h", "#define N 5\n")]}, CODE),
    ("header's name", {"headers": [("y.h", "#define N 5\n")]}, NOTHING),
    ("two headers", {"headers": [("x.h", "#define N 5\n"), ("y.h", "")]}, CODE),
    ("environment", {"environment": [("NVRTC_APPEND_FLAGS", "-DN=6")]}, CODE),
    ("no toolchain headers", {"append_toolchain_headers": False}, NOTHING),
    ("no working directory", {"working_directory": ""}, NOTHING),
    ("toolchain", {"toolchain": build_pb2.ToolchainSelector(major=12)}, CODE),
    ("a root more", {"options": ["-I/nowhere"]}, NOTHING),
    ("a root twice", {"options": ["-I/nowhere", "-I/nowhere"]}, NOTHING),
    ("a root that is the toolchain's", {"options": [f"-I{PLACES.cuda13}/include"]}, NOTHING),
)
NVRTC_OPTIONS = (
    # Target and kind of output.
    option("-rdc=true", shows=CODE), option("-dc"), option("-dw"), option("-ewp"), option("-dlto", shows=CODE),
    option("--optix-ir", shows=CODE), option("-dlto", "--gen-opt-lto", shows=CODE),
    # Debugging.
    option("-G", shows=CODE), option("-lineinfo", shows=CODE), option("-lineinfo", "--no-lineinfo-inlined-at"),
    option("--device-stack-protector=true", shows=CODE),
    # Code generation.
    option("--dopt=on"), option("--Ofast-compile=max", shows=CODE), option("--Ofast-compile=min"),
    option("-Xptxas=-O0", shows=CODE), option("-Xptxas", "-O1", shows=CODE), option("-Xptxas=-v", shows=LOG),
    option("-maxrregcount=16", shows=CODE), option("-maxrregcount=24", shows=CODE), option("-ftz=true", shows=CODE),
    option("-prec-sqrt=false", shows=CODE), option("-prec-div=false", shows=CODE), option("-fmad=false", shows=CODE),
    option("-use_fast_math", shows=CODE), option("-extra-device-vectorization"), option("--modify-stack-limit=false"),
    option("-restrict", shows=CODE), option("-jtd=50"), option("-split-compile=2"),
    option("--fdevice-syntax-only", shows=CODE), option("-minimal"), option("-frandom-seed=1"),
    option("-frandom-seed=2"),
    # Preprocessing, in its order.
    option("-DN=7", shows=CODE), option("-DN=8", shows=CODE), option("-DN=7", "-UN"), option("-UN"),
    option("-DN=7", "-UN", "-DN=8", shows=CODE), option("-DN=8", "-UN", "-DN=7", shows=CODE), option("-DN", shows=CODE),
    option("-DN=", shows=LOG), option("-D", "N=9", shows=CODE), option("-DM", "-DN=7", shows=CODE),
    option("-DM-DN=7", shows=LOG), option("--pre-include=cuda_fp16.h", shows=CODE), option("--no-source-include"),
    # Language.
    option("-std=c++14"), option("-std=c++20", shows=CODE), option("--builtin-move-forward=false"),
    option("--builtin-initializer-list=false"), option("-default-device"), option("--device-int128"),
    option("--device-float128"), option("--version-ident=true", shows=CODE),
    # Diagnostics.
    option("-w", shows=LOG), option("-err-no"), option("-no-err-no", shows=LOG), option("-diag-error=177", shows=LOG),
    option("-diag-suppress=177", shows=LOG), option("-diag-warn=177"), option("-brief-diag=true", shows=LOG),
    option("-opt-info=inline", shows=LOG), option("-Xcudafe=--diag_suppress=177", shows=LOG),
    # Unknown to the table.
    option("--no-such-option", shows=LOG), option("--no-such-option", "-w", shows=LOG),
)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Builds with a daemon that lasts for all tests of this file."""
    daemon = Daemon(tmp_path_factory.mktemp("d"), (PLACES.cuda13, PLACES.cuda12)).start()
    with daemon.channel() as channel:
        yield build_pb2_grpc.BuildStub(channel).Build
    daemon.stop()


def code(reply):
    return {artifact.kind: artifact.sha256 for artifact in reply.artifacts}


def must_differ(reply, base, shows):
    assert reply.key != base.key
    assert reply.fingerprint != base.fingerprint
    if shows == CODE:
        assert code(reply) != code(base)
    if shows == LOG:
        assert reply.log != base.log


@pytest.mark.parametrize("changes, shows", [
    pytest.param(changes, shows, id=name) for name, changes, shows in NVRTC_FIELDS + NVRTC_OPTIONS
])
def test_another_key_for_nvrtc(build, changes, shows):
    must_differ(build(nvrtc(**changes)), build(nvrtc()), shows)


def test_every_row_has_a_key_of_its_own(build):
    """Not only another one than the base's."""
    replies = {name: build(nvrtc(**changes)) for name, changes, _ in NVRTC_FIELDS + NVRTC_OPTIONS}
    names = {}
    for name, reply in replies.items():
        names.setdefault(reply.key, []).append(name)
    assert [each for each in names.values() if len(each) > 1] == []


def lto(build, source):
    reply = build(nvrtc(source=source, options=["-dlto", "-rdc=true"]))
    return next(artifact.contents for artifact in reply.artifacts if artifact.kind == build_pb2.ARTIFACT_KIND_LTOIR)


def link(inputs, options=("-arch=sm_90", "-lto")):
    program = build_pb2.LinkProgram(options=options)
    for kind, name, contents in inputs:
        program.inputs.add(type=kind, name=name, contents=build_pb2.Blob(inline_bytes=contents))
    return build_pb2.BuildRequest(link=program)


def test_another_key_for_links(build):
    kind = build_pb2.LINK_INPUT_TYPE_LTOIR
    op, other, caller = (("op", lto(build, OP)), ("op", lto(build, OTHER_OP)), ("caller", lto(build, CALLER)))
    inputs = [(kind, *op), (kind, *caller)]
    base = build(link(inputs))
    rows = (
        (link([(kind, *other), (kind, *caller)]), CODE),
        (link([(kind, *caller), (kind, *op)]), NOTHING),
        (link([(kind, "another", op[1]), (kind, *caller)]), NOTHING),
        (link([(0, *op), (kind, *caller)]), NOTHING),
        (link([(kind, *op), (kind, *op), (kind, *caller)]), LOG),
        (link([(kind, *op)]), CODE),
        *((link(inputs, ("-arch=sm_90", "-lto", word)), shows) for word, shows in (
            ("-O0", CODE), ("-lineinfo", NOTHING), ("-g", CODE), ("-ptx", CODE), ("-maxrregcount=24", NOTHING),
            ("-ftz=1", NOTHING), ("-prec-div=0", NOTHING), ("-prec-sqrt=0", NOTHING), ("-fma=0", NOTHING),
            ("-kernels-used=k", NOTHING), ("-Xptxas=-O0", CODE), ("-verbose", NOTHING), ("-split-compile=2", NOTHING),
        )),
        (link(inputs, ("-arch=sm_80", "-lto")), CODE),
    )
    replies = [build(request) for request, _ in rows]
    for (_, shows), reply in zip(rows, replies):
        must_differ(reply, base, shows)
    assert len({reply.key for reply in replies}) == len(rows)


def nvvm(modules, *options, libdevice=False):
    program = build_pb2.NvvmProgram(options=("-arch=compute_90", *options), add_libdevice=libdevice)
    for name, text, lazy in modules:
        program.modules.add(name=name, contents=build_pb2.Blob(inline_bytes=text.encode()), lazy=lazy)
    return build_pb2.BuildRequest(nvvm=program)


def test_another_key_for_nvvm(build):
    module = ("m", MODULE, False)
    calling = ("m", MODULE.replace("fdiv float %v, 3.0", "call float @__nv_expf(float %v)"), False)
    empty = ("e", 'target triple = "nvptx64-nvidia-cuda"\n', False)
    base = build(nvvm([module]))
    rows = (
        (nvvm([("m", MODULE.replace("3.0", "5.0"), False)]), CODE),
        (nvvm([("m", MODULE + "\n", False)]), NOTHING),
        (nvvm([("n", MODULE, False)]), NOTHING),
        (nvvm([("m", MODULE, True)]), CODE),
        (nvvm([module, empty]), NOTHING),
        (nvvm([empty, module]), NOTHING),
        (nvvm([module], libdevice=True), NOTHING),
        (nvvm([calling]), CODE),
        (nvvm([calling], libdevice=True), CODE),
        (nvvm([module], "-g"), NOTHING),
        (nvvm([module], "-opt=0"), CODE),
        (nvvm([module], "-ftz=1"), CODE),
        (nvvm([module], "-prec-div=0"), CODE),
        (nvvm([module], "-prec-sqrt=0"), NOTHING),
        (nvvm([module], "-fma=0"), NOTHING),
        (nvvm([module], "-gen-lto"), CODE),
        (nvvm([module], "-opt=0", "-ftz=1"), CODE),
    )
    replies = [build(request) for request, _ in rows]
    for (_, shows), reply in zip(rows, replies):
        must_differ(reply, base, shows)
    assert len({reply.key for reply in replies}) == len(rows)


@pytest.mark.parametrize("field", ("name", "-I", "working_directory"))
@pytest.mark.parametrize("shown_by", ("-lineinfo", "-G", "__FILE__", "source_location", "-DX=__FILE__"))
def test_another_key_from_another_place_where_paths_show(build, directory, field, shown_by):
    def request(place):
        fields = {"name": "/src/k.cu", "working_directory": "/", "options": ["-I/nowhere"]}
        fields.update({"-I": {"options": [f"-I{place}"]}, "name": {"name": f"{place}/k.cu"}}.get(field, {field: place}))
        if shown_by.startswith("-"):
            fields["options"] = [*fields["options"], shown_by]
        else:
            fields["source"] = f"// {shown_by}\n{SOURCE}"
        return nvrtc(**fields)

    one, other = (build(request(f"{directory}/{name}")) for name in ("one", "other"))
    assert one.key != other.key


def test_another_toolchain_is_another_key_though_its_version_is_the_same(make_daemon, toolkit):
    """A patch release is known by its bytes."""
    daemon = make_daemon(roots=(toolkit.root,)).start()
    before = daemon.build_json(OP)
    with open(f"{toolkit.root}/include/cuda.h", "a") as header:
        header.write("// patched\n")
    after = wait_for(lambda: (told := daemon.build_json(OP))["key"] != before["key"] and told, "another key")
    assert after["toolchain"]["version"] == before["toolchain"]["version"]
    assert after["outcome"] == "built"
