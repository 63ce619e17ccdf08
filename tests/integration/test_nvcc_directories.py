# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of nvcc in directories of random name, as TileLang, PyCUDA and DeepGEMM make them, share a result if the directory's
name is nothing but a text in it."""

import os
import pathlib
import re

import pytest
from nvcc_toolkit import NVCC, Toolkit
from places import PLACES

TEMPORARY = re.compile(rb"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}")
# ptxas of CUDA 13.0 writes the times of sources, that of 13.5 does not.
TOOLKITS = {"13.0": pathlib.Path(PLACES.cuda13), "13.5": NVCC}
# The module id, which has a hash of the source's path, is in the names of what is not visible elsewhere. Functions that are
# not inlined are in the strings of the line table, too.
KERNEL = """
namespace {
struct Weight { float value; };
__device__ float scale[4];
template <class T> __device__ __noinline__ float weigh(float x) { return x * scale[1] + sizeof(T); }
}
static __device__ __noinline__ int next(int x) { return x < 3 ? x : next(x - 3) + 1; }
extern "C" __global__ void kernel(float* p, int* q) {
  int unused;
  *p = weigh<Weight>(*p);
  *q = next(*q);
}
"""
LINES = ["-lineinfo"]
NAMES = ["tmpabcdefgh", "tmp01_23_ab", "tmpz_______"]
NUMBERED = ["4711-0a1b2c3d-00000000-ffffffff", "1234-ffffffff-0a1b2c3d-01234567"]
# cudafe++ puts the number of its process into the module id if a text defines nothing that only one object can define.
OF_PROCESS = re.compile(rb"(_[0-9a-f]{8}_4_k_cu_[0-9a-f]{8}_)([0-9]+)")
INSTANCE = """
namespace { __device__ float scale[4]; }
template <int N> __global__ void kernel(float* p) { *p *= scale[N]; }
static void instance() { auto pointer = reinterpret_cast<void*>(&kernel<2>); }
"""


def comparable(cubin, other):
    """Returns a cubin without the numbers of processes, which differ in each run of nvcc. If the numbers in both cubins have
    different lengths, so have names, and only the module ids are returned."""
    ids, others = (set(OF_PROCESS.findall(each)) for each in (cubin, other))
    if sorted(len(number) for _, number in ids) != sorted(len(number) for _, number in others):
        return {front for front, _ in ids}
    return OF_PROCESS.sub(rb"\1", TEMPORARY.sub(b"", cubin))


class Directories(Toolkit):
    """Compiles one source in directories of random name."""

    def __init__(self, directory, socket, release="13.5"):
        super().__init__(directory, socket)
        self.nvcc = TOOLKITS[release] / "bin/nvcc"
        self.above = self.work / "temporary"
        self.seconds = 1_700_000_000

    def words_in(self, name, *options):
        return ["-cubin", *options, "-arch=sm_90", "-o", self.above / name / "k.cubin", self.above / name / "k.cu"]

    def compile_as_pycuda(self, name, *options):
        """Compiles as compile() does, in the directory itself."""
        place = self.above / name
        return self.compile_words(name, ["--cubin", *options, "-arch", "sm_90", "k.cu"], place=place, PWD=str(place))

    def compile_as_deep_gemm(self, name, *options):
        """Compiles as compile() does, in the directory above."""
        words = [self.above / name / "k.cu", "-cubin", "-o", self.above / name / "k.cubin", "-std=c++20",
                 "--diag-suppress=39,161,174,177,186,940", "--ptxas-options=--register-usage-level=10",
                 "--gpu-architecture=sm_90a", "--compiler-options=-fPIC,-O3,-fconcepts,-Wno-deprecated-declarations,-Wno-abi",
                 "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda", *options]
        return self.compile_words(name, words, place=self.above)

    def write(self, name, text, **headers):
        place = self.above / name
        place.mkdir(exist_ok=True)
        (place / "k.cu").write_text(text)
        for header, contents in headers.items():
            (place / f"{header}.h").write_text(contents)
        self.seconds += 86_400
        os.utime(place / "k.cu", (self.seconds, self.seconds))

    def compile(self, name, *options):
        """Compiles by the cache. Returns how, once a hit gave the same as nvcc alone."""
        return self.compile_words(name, self.words_in(name, *options))

    def compile_words(self, name, words, **keywords):
        cubin = self.above / name / "k.cubin"
        how = self.how(*words, **keywords)
        if how != "hit":
            return how
        said, made = self._ended, cubin.read_bytes()
        cubin.unlink()
        alone = self.alone(*words, **keywords)
        assert comparable(made, cubin.read_bytes()) == comparable(cubin.read_bytes(), made)
        assert (said.out, said.err) == (alone.out, alone.err)
        return how

    def under_run(self, *words, **keywords):
        self._ended = super().under_run(*words, **keywords)
        return self._ended


@pytest.fixture
def daemon(make_daemon):
    return make_daemon().start()


@pytest.fixture
def directories(directory, daemon):
    return Directories(directory, daemon.socket)


@pytest.mark.parametrize("release, options", [("13.0", ["-lineinfo"]), ("13.5", ["-lineinfo"]), ("13.0", ["-G"])],
                         ids=lambda value: "".join(value))
def test_another_directory_is_a_hit_with_its_own_name_and_times(directory, daemon, release, options):
    directories = Directories(directory, daemon.socket, release)
    for name, how in zip(NAMES, ["made", "hit", "hit"]):
        directories.write(name, KERNEL)
        assert directories.compile(name, *options) == how


@pytest.mark.parametrize("release, options", [("13.0", LINES), ("13.5", [])], ids=lambda value: "".join(value))
def test_another_working_directory_of_tempfile_is_a_hit(directory, daemon, release, options):
    directories = Directories(directory, daemon.socket, release)
    for name, how in zip(NAMES, ["made", "hit"]):
        directories.write(name, KERNEL)
        assert directories.compile_as_pycuda(name, *options) == how


@pytest.mark.parametrize("release, options", [("13.0", []), ("13.5", LINES)], ids=lambda value: "".join(value))
def test_another_directory_of_deep_gemm_is_a_hit_although_each_run_of_nvcc_has_its_own_module_id(
        directory, daemon, release, options):
    directories = Directories(directory, daemon.socket, release)
    for name, how in zip(NUMBERED, ["made", "hit"]):
        directories.write(name, INSTANCE)
        assert directories.compile_as_deep_gemm(name, *options) == how
    assert OF_PROCESS.search((directories.above / name / "k.cubin").read_bytes())


def test_a_name_of_another_length_is_another_key(directories):
    for name in [NUMBERED[0], "10" + NUMBERED[0]]:
        directories.write(name, INSTANCE)
        assert directories.compile_as_deep_gemm(name) == "made"


def test_a_relocatable_cubin_with_a_process_number_is_not_kept(directories):
    directories.write(NAMES[0], INSTANCE)
    for _ in range(2):
        assert directories.compile(NAMES[0], "-rdc=true") not in ("made", "hit")


def test_a_header_with_the_name_of_the_working_directory_is_compiled_in_each(directories):
    header = f'#line 3 "{directories.above}/{NAMES[0]}/generator.py"\n__device__ int one() {{ return 1; }}\n'
    for name in NAMES[:2]:
        directories.write(name, '#include "a.h"\n__global__ void k(int* p) { *p = one(); }', a=header)
        assert directories.compile_as_pycuda(name) == "made"
    assert directories.compile_as_pycuda(NAMES[0]) == "hit"


def test_an_assertion_in_a_header_of_another_directory_does_not_matter(directories):
    """assert() of glibc 2.39, as Ubuntu 24.04 has it, asks for its file by a built-in function."""
    headers = directories.work / "headers"
    headers.mkdir()
    (headers / "a.h").write_text("""#pragma once
__device__ inline void check(int* p) {
  (static_cast <bool> (p) ? void (0) : __assert_fail ("p", __builtin_FILE (), __builtin_LINE (), __extension__ __PRETTY_FUNCTION__));
}
""")
    for name, how in zip(NAMES, ("made", "hit", "hit")):
        directories.write(name, '#include <a.h>\n' + KERNEL.replace("int unused;", "check(q);"))
        assert directories.compile(name, *LINES, f"-I{headers}") == how


HASH = "__device__ constexpr unsigned hash(const char* s) { unsigned h = 5; while (*s) h = h * 33 + *s++; return h; }\n"
SHOWN = {
    "a choice by the file": HASH + "__global__ void k(int* p) { if constexpr (hash(__FILE__) & 1) *p = 1; else *p = 2; }",
    "a built-in function's file":
        HASH + "__global__ void k(unsigned* p) { constexpr unsigned h = hash(__builtin_FILE()); *p = h; }",
}


@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN)
def test_code_that_knows_the_directory_is_compiled_in_each(directories, text):
    for name in NAMES[:2]:
        directories.write(name, text)
        assert directories.compile(name, *LINES) == "made"
    assert directories.compile(NAMES[0], *LINES) == "hit"


def test_a_text_with_the_name_of_its_directory_as_an_identifier_is_compiled_in_each(directories):
    for name in NAMES[:2]:
        directories.write(name, f"__global__ void {NAMES[0]}(int* p) {{ *p = 1; }}")
        assert directories.compile(name, *LINES) == "made"


def test_a_header_with_the_name_of_its_directory_is_compiled_in_each(directories):
    header = f'#line 3 "{directories.above}/{NAMES[0]}/generator.py"\n__device__ int one() {{ return 1; }}\n'
    for name in NAMES[:2]:
        directories.write(name, '#include "a.h"\n__global__ void k(int* p) { *p = one(); }', a=header)
        assert directories.compile(name, *LINES) == "made"


def test_a_line_table_with_two_directories_of_tempfile_is_made_in_each(directories):
    """If one of them is the run's own, the table has the directory once."""
    header = (f'#line 3 "{directories.above}/{NAMES[1]}/generator.py"\n'
              "__device__ __noinline__ int sum(int x) { return x < 1 ? 1 : sum(x - 1) + x; }\n")
    for name in NAMES[:2]:
        directories.write(name, '#include "a.h"\n__global__ void k(int* p) { *p = sum(*p); }', a=header)
        assert directories.compile(name, *LINES) == "made"


def test_headers_in_the_directory_are_compared(directories):
    text = '#include "a.h"\n#if __has_include("b.h")\n#include "b.h"\n#endif\n__global__ void k(int* p) { *p = A; }'
    for name, headers, how in [(NAMES[0], {"a": "#define A 1"}, "made"), (NAMES[1], {"a": "#define A 1"}, "hit"),
                               (NAMES[1], {"a": "#define A 2"}, "made"),
                               (NAMES[2], {"a": "#define A 1", "b": "int b() { return 1; }"}, "made")]:
        directories.write(name, text, **headers)
        assert directories.compile(name, *LINES) == how


def test_a_variable_with_the_name_and_a_name_that_begins_with_it_are_in_the_key(directories):
    for name in NAMES[:2]:
        more = directories.above / (name + "_more")
        more.mkdir()
        (more / "a.h").write_text("__device__ __noinline__ int one() { return 1; }\n")
        directories.write(name, "#include <a.h>\n__global__ void k(int* p) { *p = one(); }")
        assert directories.compile(name, *LINES, "-I", str(more)) == "made"
    directories.environment["NVCC_SOMETHING"] = f"{directories.above}/{name}"
    directories.write(name, KERNEL)
    assert directories.compile(name) == "made"
