# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Each change that can affect a byte of an answer gives another key. Each row of the tables differs from its base in
one thing. If that changes the output or the log, the bytes prove it."""

import pathlib
import re

import pytest
from conftest import PLACES, Daemon, build_pb2, build_pb2_grpc, files_view, wait_for
from option_rows import CODE, LINK_BASE, LINK_OPTIONS, LOG, NOTHING, NVRTC_OPTIONS, NVVM_BASE, NVVM_OPTIONS
from raw import SEED

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


def nvrtc(**changes):
    """Returns a request in which these fields of the program or of the request are replaced."""
    program = build_pb2.NvrtcProgram(
        source=build_pb2.Blob(inline_bytes=changes.pop("source", SOURCE).encode()),
        name=changes.pop("name", "kernel.cu"), options=["-arch=" + changes.pop("arch", "sm_90")],
        append_toolchain_headers=changes.pop("append_toolchain_headers", True),
        name_expressions=changes.pop("name_expressions", ()),
    )
    program.options.extend(changes.pop("options", ()))
    # The daemon derives its own -frandom-seed from the whole request, so that any change could show in the bytes. A
    # fixed seed prevents that.
    if not any(word.startswith("-frandom-seed") for word in program.options):
        program.options.append(SEED)
    for name, text in changes.pop("headers", ()):
        program.headers.add(name=name, contents=build_pb2.Blob(inline_bytes=text.encode()))
    for name, value in changes.pop("environment", ()):
        program.environment.add(name=name, value=value)
    return build_pb2.BuildRequest(nvrtc=program, files_view=files_view(), **{"working_directory": "/", **changes})


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
    ("environment", {"environment": [("NVRTC_APPEND_FLAGS", "-DN=6"), ("NVRTCWIZ", "3153394")]}, CODE),
    ("no toolchain headers", {"append_toolchain_headers": False}, NOTHING),
    ("no working directory", {"working_directory": ""}, NOTHING),
    ("toolchain", {"toolchain": build_pb2.ToolchainSelector(major=12)}, CODE),
    ("a root more", {"options": ["-I/nowhere"]}, NOTHING),
    ("a root twice", {"options": ["-I/nowhere", "-I/nowhere"]}, NOTHING),
    ("a root that is the toolchain's", {"options": [f"-I{PLACES.cuda13}/include"]}, NOTHING),
)
NVRTC_ROWS = (*NVRTC_FIELDS, *((" ".join(words), {"options": words}, shows) for words, shows in NVRTC_OPTIONS))


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
    elif shows == LOG:
        assert reply.log != base.log
    else:
        assert (code(reply), reply.log) == (code(base), base.log)


@pytest.mark.parametrize("changes, shows", [
    pytest.param(changes, shows, id=name) for name, changes, shows in NVRTC_ROWS
])
def test_each_change_of_an_nvrtc_build_gives_another_key(build, changes, shows):
    must_differ(build(nvrtc(**changes)), build(nvrtc()), shows)


def test_appended_flags_enter_the_key_only_if_nvrtc_reads_them(build):
    """Without the right value of NVRTCWIZ, NVRTC ignores the flags, and the key does too."""
    base, ignored = build(nvrtc()), build(nvrtc(environment=[("NVRTC_APPEND_FLAGS", "-DN=6"), ("NVRTCWIZ", "1")]))
    assert (ignored.key, code(ignored)) == (base.key, code(base))
    given = [("NVRTC_APPEND_FLAGS", "-DN=6"), ("NVRTCWIZ", "3153394")]
    assert code(build(nvrtc(environment=given))) == code(build(nvrtc(options=["-DN=6"])))


def test_every_row_has_a_different_key(build):
    """The key differs not only from that of the base, but from all others."""
    replies = {name: build(nvrtc(**changes)) for name, changes, _ in NVRTC_ROWS}
    names = {}
    for name, reply in replies.items():
        names.setdefault(reply.key, []).append(name)
    assert [each for each in names.values() if len(each) > 1] == []


def lto(build, source):
    reply = build(nvrtc(source=source, options=["-dlto", "-rdc=true"]))
    return next(artifact.contents for artifact in reply.artifacts if artifact.kind == build_pb2.ARTIFACT_KIND_LTOIR)


def link(inputs, options=LINK_BASE):
    program = build_pb2.LinkProgram(options=options)
    for kind, name, contents in inputs:
        program.inputs.add(type=kind, name=name, contents=build_pb2.Blob(inline_bytes=contents))
    return build_pb2.BuildRequest(link=program)


def test_each_change_of_a_link_gives_another_key(build):
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
        *((link(inputs, options), shows) for options, shows in LINK_OPTIONS),
    )
    replies = [build(request) for request, _ in rows]
    for (_, shows), reply in zip(rows, replies):
        must_differ(reply, base, shows)
    assert len({reply.key for reply in replies}) == len(rows)


def nvvm(modules, *options, libdevice=False):
    program = build_pb2.NvvmProgram(options=options or NVVM_BASE, add_libdevice=libdevice)
    for name, text, lazy in modules:
        program.modules.add(name=name, contents=build_pb2.Blob(inline_bytes=text.encode()), lazy=lazy)
    return build_pb2.BuildRequest(nvvm=program)


def test_each_change_of_an_nvvm_build_gives_another_key(build):
    module = ("m", MODULE, False)
    calling = ("m", MODULE.replace("fdiv float %v, 3.0", "call float @__nv_expf(float %v)"), False)
    other_version = ("e", 'target triple = "nvptx64-nvidia-cuda"\n', False)
    base = build(nvvm([module]))
    rows = (
        (nvvm([("m", MODULE.replace("3.0", "5.0"), False)]), CODE),
        (nvvm([("m", MODULE + "\n", False)]), NOTHING),
        (nvvm([("n", MODULE, False)]), NOTHING),
        (nvvm([("m", MODULE, True)]), CODE),
        (nvvm([module, other_version]), LOG),
        (nvvm([other_version, module]), LOG),
        (nvvm([module], libdevice=True), NOTHING),
        (nvvm([calling]), CODE),
        (nvvm([calling], libdevice=True), CODE),
        *((nvvm([module], *options), shows) for options, shows in NVVM_OPTIONS),
    )
    replies = [build(request) for request, _ in rows]
    for (_, shows), reply in zip(rows, replies):
        must_differ(reply, base, shows)
    assert len({reply.key for reply in replies}) == len(rows)


def options_that_enter_the_key(compiler):
    """Returns all spellings of each option in docs/options.md. A unit test compares that list with the tables."""
    document = pathlib.Path(__file__).parents[2].joinpath("docs/options.md").read_text()
    section = document.split(f"\n## {compiler}\n")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (`.*?) \| .* \| key.*\|$", section, re.MULTILINE):
        yield [re.sub(r"\[?=?V\]?$", "", spelling) for spelling in re.findall("`(.*?)`", row)]


# NVRTC of the tests' toolkits does not know it. The unit tests of its options have it.
NEWER = ["--use-bundled-headers"]


def changed(base, rows):
    """Returns the words that are only in a row or only in its base."""
    return {word for words in rows for word in set(words) ^ set(base)}


@pytest.mark.parametrize("compiler, words", (
    ("NVRTC", changed(nvrtc().nvrtc.options, (nvrtc(**changes).nvrtc.options for _, changes, _ in NVRTC_ROWS))),
    ("nvJitLink", changed(LINK_BASE, (words for words, _ in LINK_OPTIONS))),
    ("libNVVM", changed(NVVM_BASE, (words for words, _ in NVVM_OPTIONS))),
))
def test_every_option_that_enters_the_key_has_a_row(compiler, words):
    def has_row(spelling):
        joined = compiler == "NVRTC" and len(spelling) == 2
        return any(word.startswith(spelling) if joined else word.split("=")[0] == spelling for word in words)

    options = list(options_that_enter_the_key(compiler))
    assert len(options) > 5
    assert [spellings for spellings in options if spellings != NEWER and not any(map(has_row, spellings))] == []


@pytest.mark.parametrize("field", ("name", "-I", "working_directory"))
@pytest.mark.parametrize("shown_by", ("-lineinfo", "-G", "__FILE__", "source_location", "-DX=__FILE__"))
def test_another_directory_gives_another_key_if_the_output_shows_its_path(build, directory, field, shown_by):
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


def test_another_toolchain_of_the_same_version_has_another_key(make_daemon, toolkit):
    """A patch release has the same version, so only its bytes show the difference."""
    daemon = make_daemon(roots=(toolkit.root,)).start()
    before = daemon.build_json(OP)
    (library,) = pathlib.Path(toolkit.root).glob("lib/libnvrtc.so.13")
    patched = library.with_suffix(".patched")
    patched.write_bytes(library.read_bytes() + b"patched")  # an ELF file may be longer than its header says
    patched.replace(library)
    after = wait_for(lambda: (told := daemon.build_json(OP))["key"] != before["key"] and told, "another key")
    assert after["toolchain"]["version"] == before["toolchain"]["version"]
    assert after["outcome"] == "built"
