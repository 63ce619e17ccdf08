# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Changes that can't affect a byte of an answer do not change the key. The same program from any directory and any
user is one entry, and each caller reads its own paths."""

import json
import os
import pathlib
import shutil
import tempfile

import pytest
from conftest import PLACES, build_pb2, build_pb2_grpc, nvrtc_request, wait_for
from raw import header_directories

ALICE, BOB = 54321, 54322
KERNEL = """
namespace { __device__ int counter; }
template <int I> __global__ void t(int* p) { *p = I + counter; }
extern "C" __global__ void k(int* p) { *p = 3; }
"""
CUB = """
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void sum(const int* in, int* out) {
  using Block = cub::BlockReduce<int, 128>;
  __shared__ typename Block::TempStorage storage;
  int total = Block(storage).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = total;
}
"""


@pytest.fixture
def build(lasting):
    with lasting.channel() as channel:
        yield build_pb2_grpc.BuildStub(channel).Build


def request(*options, source=KERNEL, environment=(), expressions=(), headers=(), name="k.cu", **fields):
    made = nvrtc_request(source, *options, headers=headers, name=name, **{"working_directory": "/", **fields})
    made.nvrtc.name_expressions.extend(expressions)
    for variable, value in environment:
        made.nvrtc.environment.add(name=variable, value=value)
    return made


def spelled(architecture):
    made = request()
    made.nvrtc.options[:] = architecture
    return made


PTX, CUBIN = build_pb2.ARTIFACT_KIND_PTX, build_pb2.ARTIFACT_KIND_CUBIN
PAIRS = {
    "who wants what": (request(wanted=[PTX]), request(wanted=[CUBIN])),
    "driver": (request(), request(driver_version=13000)),
    "priority": (request(), request(priority=build_pb2.PRIORITY_WARM_UP)),
    "toolchain by major": (request(), request(toolchain=build_pb2.ToolchainSelector(major=13))),
    "toolchain by version": (request(), request(toolchain=build_pb2.ToolchainSelector(version="13.0"))),
    "working directory": (request(), request(working_directory="/tmp")),
    "directory of the program": (request(), request(name="/usr/lib/k.cu")),
    "directory of the program that may not be there": (request(name="/usr/k.cu"), request(name="/nowhere/k.cu")),
    "relative directory of the program": (request(name="a/k.cu"), request(name="../b/k.cu")),
    "include directories": (request("-I/nowhere/one"), request("-I/nowhere/two")),
    "relative include directories": (request("-Ione"), request("-I/nowhere/two")),
    "environment that no compiler reads": (request(), request(environment=[("HOME", "/home/alice")])),
    "environment for options": (
        request("-DN=1"), request(environment=[("NVRTC_APPEND_FLAGS", " -DN=1 "), ("NVRTCWIZ", "3153394")]),
    ),
    "environment that NVRTC leaves aside": (request(), request(environment=[("NVRTC_APPEND_FLAGS", "-DN=1")])),
    "order of name expressions": (request(expressions=["t<1>", "t<2>"]), request(expressions=["t<2>", "t<1>"])),
    "name expressions twice": (request(expressions=["t<1>"]), request(expressions=["t<1>", "t<1>"])),
    "order of headers": (
        request(headers=[("a.h", "1"), ("b.h", "2")]), request(headers=[("b.h", "2"), ("a.h", "1")]),
    ),
    "spelling of the architecture": (request(), spelled(["--gpu-architecture=sm_90"])),
    "architecture in two words": (request(), spelled(["-arch", "sm_90"])),
    "spelling of a macro": (request("-DN=1"), request("--define-macro=N=1")),
    "macro in two words": (request("-DN=1"), request("-D", "N=1")),
    "spelling of a directory": (request("-I/nowhere"), request("--include-path", "/nowhere")),
    "white space around an option": (request("-DN=1"), request("  -DN=1 ")),
    "the toolchain's directory by another name": (
        request(f"-I{PLACES.cuda13}/include"), request(f"-I{pathlib.Path(PLACES.cuda13).resolve()}/include"),
    ),
}


@pytest.mark.parametrize("one, other", PAIRS.values(), ids=PAIRS)
def test_requests_that_differ_in_no_byte_of_the_answer_share_one_entry(build, one, other):
    replies = [build(one), build(other)]
    assert replies[0].key == replies[1].key
    assert replies[1].outcome == build_pb2.OUTCOME_HIT


def test_an_inline_source_and_an_uploaded_source_share_one_entry(lasting):
    with lasting.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        uploaded = request()
        digest = stub.Upload(iter([build_pb2.UploadChunk(data=KERNEL.encode())])).sha256
        uploaded.nvrtc.source.CopyFrom(build_pb2.Blob(upload_sha256=digest))
        assert stub.Build(uploaded).key == stub.Build(request()).key


def build_file(daemon, source, *arguments, user=None, emit="cubin"):
    """Returns (`build --json`, the artifact)."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        os.chmod(place, 0o777)
        output = pathlib.Path(place, "out")
        done = daemon.cli("--json", "build", str(source), "--arch", "sm_90", "--emit", emit, "-o", str(output),
                          *arguments, user=user, cwd="/")
        return json.loads(done.stdout), output.read_bytes()


def checkout(directory, name, owner=0, **headers):
    """Makes src/k.cu and include/*.h, which all users may read."""
    place = directory / name
    for path in (place, place / "src", place / "include"):
        path.mkdir(mode=0o755)
    for header, text in headers.items():
        (place / "include" / f"{header}.h").write_text(text)
    (place / "src" / "k.cu").write_text("".join(f"#include <{each}.h>\n" for each in headers) + KERNEL)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.chown(path, owner, owner)
    return place / "src" / "k.cu", f"-I{place / 'include'}"


def test_two_users_in_two_checkouts_share_one_entry_also_after_a_restart(make_daemon, directory):
    daemon = make_daemon("--socket-mode", "0666", roots=(PLACES.cuda13,)).start()
    os.chmod(daemon.directory, 0o755)
    answers = []
    for name, user in (("one", ALICE), ("two", BOB), ("three", None)):
        source, include = checkout(directory, name, user or 0, own="#define N 5\n", other='#include "own.h"\n')
        answers.append(build_file(daemon, source, f"--option={include}", user=user))
    daemon.stop()
    daemon.start()
    source, include = checkout(directory, "four", ALICE, own="#define N 5\n", other='#include "own.h"\n')
    answers += [build_file(daemon, source, f"--option={include}", user=user) for user in (BOB, ALICE)]
    assert [told["outcome"] for told, _ in answers] == ["built", *4 * ["hit"]]
    assert len({told["key"] for told, _ in answers}) == 1
    assert len({artifact for _, artifact in answers}) == 1
    assert answers[3][0]["tier"] == "disk"
    assert daemon.stats()["compiles_total"] == 1


def test_two_checkouts_share_one_entry_for_ltoir(lasting, directory):
    """LTO-IR holds the names that the compiler saw."""
    answers = []
    for name in ("one", "a_much_longer_name"):
        source, include = checkout(directory, name, own="#define LTO 5\n")
        answers.append(build_file(lasting, source, f"--option={include}", emit="ltoir"))
    assert [told["outcome"] for told, _ in answers] == ["built", "hit"]
    assert answers[0][1] == answers[1][1]


def test_a_cub_program_over_two_virtual_environments_is_one_entry(lasting, directory):
    """Some of its headers name __FILE__, in lines whose only result can be text."""
    cccl = next(place for place in header_directories(lasting) if pathlib.Path(place, "cub").is_dir())
    answers = []
    before = lasting.stats()
    for name in ("venv", "another/venv"):
        include = directory / name / "lib" / "python3.12" / "site-packages" / "nvidia" / "cuda_cccl" / "include"
        for part in ("cub", "cuda", "thrust", "nv"):
            shutil.copytree(pathlib.Path(cccl, part), include / part)
        source = directory / name / "k.cu"
        source.write_text(CUB)
        answers.append(build_file(lasting, source, f"--option=-I{include}"))
    assert [told["outcome"] for told, _ in answers] == ["built", "hit"]
    assert answers[0][0]["key"] == answers[1][0]["key"]
    assert answers[0][1] == answers[1][1]
    after = lasting.stats()
    assert after["compiles_total"] == before["compiles_total"] + 1
    assert [after[each] for each in ("given_up_total", "path_proofs_total")] == \
        [before[each] for each in ("given_up_total", "path_proofs_total")]


def test_a_header_that_shows_its_path_is_compiled_for_each_place(lasting, directory):
    for name, outcomes in (("one", ("built", "hit")), ("other", ("built", "hit")), ("one", ("hit", "hit"))):
        if not (directory / name).exists():
            checkout(directory, name, shows="__device__ const char* path = __FILE__;\n")
        source, include = directory / name / "src" / "k.cu", directory / name / "include"
        characters = ", ".join(str(each) for each in str(include / "shows.h").encode())
        for outcome in outcomes:
            told, ptx = build_file(lasting, source, f"--option=-I{include}", emit="ptx")
            assert told["outcome"] == outcome
            assert characters.encode() in ptx


def test_builds_with_line_tables_are_not_shared_between_checkouts(lasting, directory):
    answers = []
    for name in ("one", "other"):
        source, include = checkout(directory, name, own="#define N 6\n")
        answers.append([build_file(lasting, source, f"--option={include}", "--option=-lineinfo") for _ in range(2)])
    assert [[told["outcome"] for told, _ in each] for each in answers] == [["built", "hit"]] * 2
    for name, each in zip(("one", "other"), answers):
        assert str(directory / name / "src").encode() in each[0][1]


def test_a_warning_names_each_callers_own_header_on_hits_too(lasting, directory):
    logs = {}
    for name in ("one", "other"):
        source, include = checkout(directory, name, warns="#warning careful\n")
        told, _ = build_file(lasting, source, f"--option={include}")
        logs[name] = told["log"]
        assert told["outcome"] == ("built" if name == "one" else "hit")
        assert f"{directory / name / 'include' / 'warns.h'}(1): warning" in told["log"]
        assert "cccl-root" not in told["log"]
    assert logs["other"] == logs["one"].replace(str(directory / "one"), str(directory / "other"))


def test_a_warning_names_each_callers_own_source_on_hits_too(lasting, directory):
    for name, outcome in (("one", "built"), ("other", "hit")):
        source, _ = checkout(directory, name)
        source.write_text("#warning of the source\n" + KERNEL)
        told, _ = build_file(lasting, source)
        assert told["outcome"] == outcome
        assert told["log"].startswith(f"{source}(1): warning")


def test_an_error_names_each_callers_own_header(lasting, directory):
    for name in ("one", "other"):
        source, include = checkout(directory, name, fails="#error broken\n")
        for _ in range(2):
            done = lasting.cli("build", str(source), "--arch", "sm_90", f"--option={include}", cwd="/", check=False)
            assert done.returncode == 1
            assert f"{directory / name / 'include' / 'fails.h'}(1): ".encode() in done.stderr
            assert b"cccl-root" not in done.stderr
