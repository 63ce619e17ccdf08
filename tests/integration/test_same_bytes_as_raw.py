# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon's answer has the same bytes as a direct call of the compiler with the same options and seed. LTO-IR and
OptiX-IR hold the names that the compiler saw, so they are compared with raw NVRTC under the same canonical names."""

import base64
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PATIENCE, PLACES
from raw import RAW, SEED, header_directories, raw, text_of
from test_run import knowing, library_of

COMPILE_EACH = pathlib.Path(__file__).with_name("compile_each.py")
REDUCTION = """
#include <cub/block/block_reduce.cuh>
namespace { __device__ int helper(int x) { return x * 3; } }
template <typename T> __global__ void reduce(const T* in, T* out) {
  using Block = cub::BlockReduce<T, 128>;
  __shared__ typename Block::TempStorage storage;
  T sum = Block(storage).Sum(in[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum + helper(1);
}
template __global__ void reduce<int>(const int*, int*);
template __global__ void reduce<double>(const double*, double*);
"""
HALF = """
#include <cuda_fp16.h>
#include "mine.h"
extern "C" __global__ void scale(__half* x) { x[threadIdx.x] = __hmul(x[threadIdx.x], FACTOR); }
"""
PLAIN = 'extern "C" __global__ void k(float* p) { p[threadIdx.x] *= 2.0f; }\n'
USER_OP = 'extern "C" __device__ int op(int a, int b) { return a + b; }\n'
CALLER = 'extern "C" __device__ int op(int, int);\nextern "C" __global__ void k(int* p) { *p = op(p[1], p[2]); }\n'
MODULE = """
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @k(i32* %p) {
  store i32 7, i32* %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @k, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
"""


@pytest.fixture(params=["cuda13", "cuda12"])
def root(request):
    return getattr(PLACES, request.param)


@pytest.fixture
def real(make_daemon, root):
    """A running daemon over each CUDA."""
    return make_daemon(roots=(root,)).start()


def raw_under_canonical_names(directory, roots, **job):
    """Returns the output of raw NVRTC in a file tree of its own where /cccl-root-N and /cccl-work exist."""
    job["root"] = str(pathlib.Path(job["root"]).resolve())
    tree = directory / "tree"
    tree.mkdir()
    script = ["set -e", f"mount -t tmpfs none {tree}"]
    script += [
        f"for each in /*; do if [ -L $each ]; then cp -P $each {tree}/; elif [ -d $each ]; then "
        f"mkdir -p {tree}$each; mount --rbind $each {tree}$each; fi; done",
        f"mkdir {tree}/cccl-work {tree}/cccl-root-0",
    ]
    for number, place in enumerate(roots, 1):
        script += [f"mkdir {tree}/cccl-root-{number}", f"mount --bind {place} {tree}/cccl-root-{number}"]
    script += ["PATH=$PATH:/usr/sbin", f"exec chroot {tree} sh -c 'cd /cccl-work && exec {sys.executable} {RAW}'"]
    own_mounts = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    done = subprocess.run(
        [*own_mounts, "sh", "-c", "\n".join(script)], input=json.dumps(job).encode(), capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{done.stderr.decode()}mounts are needed: allow user namespaces, or run as root"
    told = json.loads(done.stdout)
    assert told["code"] == 0
    return {kind: base64.b64decode(data) for kind, data in told["outputs"].items()}


def built(daemon, directory, source, emit, *arguments):
    output = directory / f"out.{emit}"
    daemon.cli("build", str(source), "--arch", "sm_90", "--emit", emit, "-o", str(output), "--option", SEED, *arguments,
               cwd=source.parent)
    return output.read_bytes()


@pytest.mark.parametrize("name, text, headers", [
    ("plain", PLAIN, {}), ("reduction", REDUCTION, {}), ("half", HALF, {"mine.h": "#define FACTOR __half(2.0f)\n"}),
])
def test_a_build_has_the_bytes_of_raw_nvrtc(real, root, directory, name, text, headers):
    source = directory / f"{name}.cu"
    source.write_text(text)
    arguments = []
    for header, contents in headers.items():
        file = directory / f"inline_{header}"
        file.write_text(contents)
        arguments += ["--header", f"{header}={file}"]
    options = ["-arch=sm_90", SEED, *(f"-I{place}" for place in header_directories(real))]
    expected = raw(kind="nvrtc", root=root, source=text, name=str(source), options=options, headers=headers)
    assert built(real, directory, source, "cubin", *arguments) == expected["cubin"]
    assert built(real, directory, source, "ptx", *arguments) == text_of(expected["ptx"])


def test_a_build_that_shows_a_path_has_the_bytes_of_raw_nvrtc(real, root, directory):
    """The name points to no file, because raw NVRTC writes a file's time into the line table (decision 36)."""
    source = directory / "lines.cu"
    source.write_text(PLAIN)
    name = "/nowhere/src/lines.cu"
    expected = raw(kind="nvrtc", root=root, source=PLAIN, name=name, cwd=directory,
                   options=["-arch=sm_90", SEED, "-lineinfo", *(f"-I{each}" for each in header_directories(real))])
    assert built(real, directory, source, "cubin", "--option=-lineinfo", "--name", name) == expected["cubin"]


@pytest.mark.parametrize("emit, option", [("ltoir", "-dlto"), ("optixir", "--optix-ir")])
@pytest.mark.parametrize("name, text", [("plain", PLAIN), ("reduction", REDUCTION)])
def test_ir_has_the_bytes_of_raw_nvrtc_under_canonical_names(real, root, directory, name, text, emit, option):
    source = directory / f"{name}.cu"
    source.write_text(text)
    roots = header_directories(real)
    options = ["-arch=sm_90", option, SEED, *(f"-I/cccl-root-{number}" for number, _ in enumerate(roots, 1))]
    expected = raw_under_canonical_names(
        directory, roots, kind="nvrtc", root=root, source=text, name=f"/cccl-root-0/{name}.cu", options=options,
    )
    assert built(real, directory, source, emit) == expected[emit]


@pytest.mark.parametrize("emit, arch, options", [
    ("cubin", "sm_90", ["-lto"]), ("ptx", "compute_90", ["-ptx", "-lto"]),
])
def test_a_link_has_the_bytes_of_raw_nvjitlink(real, root, directory, emit, arch, options):
    inputs = []
    for name, text in (("op", USER_OP), ("caller", CALLER)):
        source = directory / f"{name}.cu"
        source.write_text(text)
        inputs.append(directory / f"{name}.ltoir")
        inputs[-1].write_bytes(built(real, directory, source, "ltoir", "--option=-rdc=true"))
    output = directory / f"linked.{emit}"
    real.cli("link", *map(str, inputs), "--arch", arch, "--emit", emit, "--option=-lto", "-o", str(output))
    expected = raw(
        kind="link", root=root, options=[f"-arch={arch}", *options],
        inputs=[(3, base64.b64encode(path.read_bytes()).decode()) for path in inputs],
    )
    assert output.read_bytes() == (text_of(expected["ptx"]) if emit == "ptx" else expected["cubin"])


def test_an_nvvm_build_has_the_bytes_of_raw_libnvvm(real, root, directory):
    module = directory / "m.ll"
    module.write_text(MODULE)
    output = directory / "m.ptx"
    real.cli("nvvm", str(module), "--arch", "compute_90", "-o", str(output))
    expected = raw(kind="nvvm", root=root, modules=[("m.ll", MODULE)], options=["-arch=compute_90"])
    assert output.read_bytes() == text_of(expected["ptx"])


# Each takes a value from the next argument, or seems to.
WITHOUT_VALUE = ("-Xptxas", "-Xnvvm", "-Xcudafe", "-maxrregcount", "-jtd", "-split-compile", "-dopt", "-Ofc", "-D", "-U",
                 "-include")


def said_of(programs, directory, root, *before):
    """Returns NVRTC's output for each program, in a process of its own that these words start."""
    file = directory / "programs.json"
    file.write_text(json.dumps(programs))
    words = [*before, sys.executable, COMPILE_EACH, library_of(root), file]
    done = subprocess.run(list(map(str, words)), capture_output=True, timeout=PATIENCE, cwd=directory)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout), done.stderr


def under_run(daemon, programs, directory, root):
    """Returns the output under `run`, where the daemon answers each program, and the report."""
    words = (PLACES.cli, "--json", "--socket", daemon.socket, "run", "--report", "--")
    said, report = said_of(programs, directory, root, *words)
    report = json.loads(report)
    assert not any(report["forwarded"].values()), report
    return said, report


def test_an_option_without_its_value_gives_the_result_of_the_compiler(real, root, directory):
    programs = [{"source": PLAIN, "name": "k.cu", "options": ["-arch=sm_90", *include, word]}
                for word in WITHOUT_VALUE for include in ((), ("-Iinc",))]
    expected, _ = said_of(programs, directory, root)
    for _ in range(2):
        assert under_run(knowing(real), programs, directory, root)[0] == expected
    (directory / "k.cu").write_text(PLAIN)
    for word, alone in zip(WITHOUT_VALUE, expected[::2]):
        done = real.cli("--json", "build", "k.cu", "--arch", "sm_90", "-o", os.devnull, f"--option={word}", cwd=directory,
                        check=False)
        told = json.loads(done.stdout)
        assert (told["outcome"] == "failed", told["log"].rstrip()) == (alone["code"] != 0, alone["log"].rstrip()), word


ADDRESSES = """extern "C" __global__ void k(float* p, int s, int n) {
  float a = 0;
  for (int i = 0; i < n; i++) {
    a += p[(i + 1) * s] + p[(i + 2) * s] + p[(i + 3) * s];
    p[i * s + threadIdx.x] = a;
  }
}
"""
OF_LLVM = ("-do-base-address-strength-reduce=0", "-disable-SCCPPass", "-alias-set-saturation-threshold=0", "-full-inst-combine=0")


def test_the_options_of_llvm_that_cudnn_uses_have_the_effect_that_they_have_without_run(real, root, directory):
    """Each is compiled in a process of its own, because NVRTC keeps such an option for all later compiles."""
    said = {}
    for option in ("-opt=3", *OF_LLVM):
        passed = ["-Xnvvm", "-Xopt"] if option in OF_LLVM else []
        programs = [{"source": ADDRESSES, "name": "k.cu", "options": ["-arch=sm_90", *passed, "-Xnvvm", option]}]
        expected, _ = said_of(programs, directory, root)
        for hits in (0, 1):
            said[option], report = under_run(knowing(real), programs, directory, root)
            assert (said[option], report["hits"]) == (expected, hits)
    assert said[OF_LLVM[0]] != said["-opt=3"]


def test_names_options_and_texts_that_are_not_utf8_reach_the_compiler_unchanged(real, root, directory):
    place = os.fsencode(directory)
    os.mkdir(place + b"/d\xe9")
    with open(place + b"/d\xe9/caf\xe9.h", "w", encoding="ascii") as header:
        header.write("#define VALUE 7\n")
    latin = ('#include "caf\xe9.h"\n#warning d\xe9j\xe0 vu\ntemplate <int c> __global__ void k(int* p) {\n'
             '  const char* text = TEXT;\n  *p = VALUE + c + text[0];\n}\n')
    wrong = '#error \xe9t\xe9\n'
    options = ["-arch=sm_90", "-Id\xe9", '-DTEXT="\xe9"']
    programs = [{"source": latin, "name": "caf\xe9.cu", "options": options, "expressions": ["k<'\xe9'>"]},
                {"source": wrong, "name": "caf\xe9.cu", "options": options}]
    expected, _ = said_of(programs, directory, root)
    assert [each["code"] for each in expected] == [0, 6]
    assert "d\xe9j\xe0 vu" in expected[0]["log"] and "\xe9t\xe9" in expected[1]["log"]
    for hits in (0, 1):
        said, report = under_run(knowing(real), programs, directory, root)
        assert (said, report["hits"]) == (expected, hits)
    for program, alone in zip(programs, expected):
        source = place + b"/caf\xe9.cu"
        with open(source, "w", encoding="latin-1") as file:
            file.write(program["source"])
        words = ("build", b"caf\xe9.cu", b"--arch", b"sm_90", b"-o", b"k\xe9.out", b"-I", b"d\xe9", b"-D", b'TEXT="\xe9"')
        done = real.cli(*words, cwd=directory, check=False)
        assert (done.returncode == 0) == (alone["code"] == 0)
        assert alone["log"].rstrip().encode("latin-1") in done.stderr
        done = real.cli("--json", *words, cwd=directory, check=False)
        assert "\ufffd" in json.loads(done.stdout)["log"]
    assert os.path.getsize(place + b"/k\xe9.out") > 0
