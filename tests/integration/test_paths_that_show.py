# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Builds whose output shows a path. Their answers do not depend on the entries that the daemon has already."""

import base64
import json

import pytest
from alone import Alone
from conftest import PLACES, wait_for
from raw import raw, text_of

# A macro of the toolchain shows the path, so that no word of the program announces it.
ASSERTION = """#include <cuda/std/cassert>
extern "C" __global__ void k(int* p) { _CCCL_ASSERT(p[0] > int(sizeof(TIME)), "small"); p[1] = 1; }
"""
HEADER = "__device__ inline const char* where() { return __FILE__; }\n"
OVER_HEADER = '#include "shows.h"\nextern "C" __global__ void k(char* p) { *p = where()[sizeof(TIME)]; }\n'


@pytest.fixture(scope="module", params=["cuda13", "cuda12"])
def root(request):
    return getattr(PLACES, request.param)


@pytest.fixture
def daemon(make_daemon, root):
    return make_daemon(roots=(root,)).start()


def build(run, source, text, *options):
    """Returns (outcome, the artifact) of this program, whose headers are beside it."""
    source.write_text(text)
    output = source.with_suffix(".out")
    done = run("--json", "build", str(source), "--arch", "sm_90", "-o", str(output), "-D", "CCCL_ENABLE_ASSERTIONS",
               "-D", "TIME=int", *options, cwd="/")
    return json.loads(done.stdout)["outcome"], output.read_bytes()


@pytest.mark.parametrize("text", [ASSERTION, OVER_HEADER], ids=["assertion of libcu++", "header with __FILE__"])
def test_a_program_that_shows_a_path_has_the_same_bytes_in_a_local_compile(daemon, root, directory, text):
    (directory / "shows.h").write_text(HEADER)
    source = directory / "k.cu"
    outcome, kept = build(daemon.cli, source, text)
    assert outcome == "built"
    assert build(Alone(directory, root).cli, source, text) == ("local", kept)
    outcome, _ = build(daemon.cli, source, text, "--option=--no-cache")
    assert outcome == "uncacheable"
    outcome, _ = build(daemon.cli, source, text.replace("TIME", "__TIME__"))
    assert outcome == "uncacheable"


@pytest.mark.parametrize("header, shown", [
    ("template <class T> __device__ void g(T i) { assert(i); }\n", False),
    ("__device__ inline int g(int x) { assert(x); return x; }\n#define f(x) g(x) + f(x)\n", True),
    (HEADER, True),
], ids=["an assertion that is not used", "an assertion", "__FILE__"])
def test_a_request_for_ltoir_has_one_answer(daemon, directory, header, shown):
    """LTO-IR always names files. The names are canonical unless the output shows a path."""
    answers = []
    for name in ("one", "one", "another"):
        place = directory / name
        place.mkdir(exist_ok=True)
        (place / "shows.h").write_text("__device__ inline int f(int x) { return x + 1; }\n" + header)
        source = place / "k.cu"
        text = OVER_HEADER if header == HEADER else OVER_HEADER.replace("where()[sizeof(TIME)]", "f(*p)")
        answers.append(build(daemon.cli, source, text, "--emit", "ltoir", "--option=-rdc=true"))
        wait_for(lambda: daemon.stats()["in_flight"] == 0, "all that is compiled")
    outcomes, artifacts = zip(*answers)
    assert outcomes == ("built", "hit", "built" if shown else "hit")
    assert artifacts[1] == artifacts[0]
    assert (artifacts[2] == artifacts[0]) == (not shown)


CALLER = """extern "C" __device__ int f(int);
extern "C" __global__ void k(int* p) { *p = f(*p); }
"""


@pytest.mark.parametrize("text", [
    '#include "shows.h"\n',
    '#include <cuda/std/array>\nextern "C" __device__ int f(int i) { return cuda::std::array<int, 2>{}[i]; }\n',
], ids=["header", "libcu++"])
def test_an_assertion_in_ltoir_without_a_kernel_names_its_file(daemon, root, directory, text):
    (directory / "shows.h").write_text('extern "C" __device__ int f(int i) { assert(i); return i; }\n')
    _, ltoir = build(daemon.cli, directory / "f.cu", text, "--emit", "ltoir")
    caller = raw(kind="nvrtc", root=root, source=CALLER, name="k.cu", options=["-arch=sm_90", "-dlto"])["ltoir"]
    ptx = raw(kind="link", root=root, options=["-arch=sm_90", "-lto", "-ptx"],
              inputs=[[3, base64.b64encode(each).decode()] for each in (ltoir, caller)])["ptx"].decode()
    assert "__assertfail" in ptx
    assert ", ".join(str(each) for each in b"/cccl-root") not in ptx


@pytest.mark.parametrize("text, option", [
    ('#pragma message("at /cccl-root-0/x.h")\n#warning "/cccl-root-1/y.h"\n', "-Ione"),
    ("#include <warns.h>\n", "-Ione//"),
    ("#include <warns.h>\n", "-I./one/"),
], ids=["a canonical name in the text", "slashes behind a directory", "a directory in other words"])
def test_a_log_names_files_as_raw_nvrtc_does(daemon, root, directory, text, option):
    text += 'extern "C" __global__ void k() {}\n'
    (directory / "one").mkdir()
    (directory / "one" / "warns.h").write_text("#warning here\n")
    (directory / "k.cu").write_text(text)
    expected = raw(kind="nvrtc", root=root, source=text, name="k.cu", cwd=directory, options=["-arch=sm_90", option])["log"]
    for _ in ("built", "hit"):
        done = daemon.cli("--json", "build", "k.cu", "--arch", "sm_90", f"--option={option}", "-o", "out", cwd=directory)
        assert json.loads(done.stdout)["log"].rstrip("\n") == text_of(expected).decode().rstrip("\n")
