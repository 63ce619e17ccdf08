# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli run -- nvcc`: each step of nvcc that is served writes what the real program writes."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from conftest import PATIENCE, PLACES, run_cli

TOOLKIT = pathlib.Path(PLACES.cuda13)
TEMPORARY = re.compile(rb"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}")
STRONG = """
__global__ void k(float* p) { p[threadIdx.x] *= FACTOR; }
int strong(float* p) { k<<<1, 32>>>(p); return 1; }
"""
# No function of this text is in one object only, so that cudafe++ makes another module id in each run.
WEAK = """
namespace { __device__ int counter; }
template <class T> __global__ void k(T* p) { *p += FACTOR + counter++; }
template <class T> struct User { static void go(T* p) { k<<<1, 1>>>(p); } };
template struct User<float>;
"""
# The linker sees the module id in the name of a template over a type in an unnamed namespace.
UNNAMED = """
namespace { struct X { int v; }; }
template <class T> int next() { static int n; return n += FACTOR; }
template <class T> struct User { static int go() { return next<X>(); } };
template struct User<float>;
"""
WORDS = ["-arch=sm_90", "-DFACTOR=2"]


class Nvcc:
    def __init__(self, directory, socket):
        self.directory, self.socket = directory, str(socket)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "XDG_RUNTIME_DIR": str(directory)}
        # A program that is not called nvcc is not served as a whole, so that its steps are.
        root = directory / "toolkit"
        (root / "bin").mkdir(parents=True)
        for file in (TOOLKIT / "bin").iterdir():
            (root / "bin" / file.name).symlink_to(file)
        for file in set(TOOLKIT.iterdir()) - {TOOLKIT / "bin"}:
            (root / file.name).symlink_to(file)
        self.program = root / "bin/steps_of_nvcc"
        self.program.symlink_to(TOOLKIT / "bin/nvcc")

    def write(self, text, name="k.cu"):
        (self.directory / name).write_text(text)

    def words(self, *words):
        kind = [] if {"-ptx", "-cubin"} & set(words) else ["-c"]
        return [str(self.program), *words, *kind, "k.cu", "-o"]

    def alone(self, *words, output="alone.o"):
        """Returns the ended process and the object."""
        done = subprocess.run([*self.words(*words), output], cwd=self.directory, env=self.environment, capture_output=True,
                              timeout=PATIENCE)
        return done, self.made(output)

    def under_run(self, *words, output="k.o"):
        """Returns the report and the object."""
        done = run_cli("--socket", self.socket, "--json", "run", "--report", "--", *self.words(*words), output,
                       cwd=self.directory, environment=self.environment, check=False)
        begin = done.stderr.rfind(b"\n{\n") + 1
        self.said, self.report = done.stderr[:begin], json.loads(done.stderr[begin:])
        self.status = done.returncode
        return self.counts_in(self.report), self.made(output)

    def steps(self):
        """Returns the report about the steps of a run that was served as a whole."""
        return self.counts_in(self.report["steps"])

    @staticmethod
    def counts_in(report):
        return {name: report[name] for name in ("hits", "compiled", "failed")}

    def made(self, name):
        """Returns an object without the name of the run's temporary files. None if there is none."""
        file = self.directory / name
        return TEMPORARY.sub(b"tmpxft", file.read_bytes()) if file.exists() else None


@pytest.fixture
def nvcc(directory, fake):
    return Nvcc(directory, fake.socket)


def counts(hits, compiled, failed=0):
    return {"hits": hits, "compiled": compiled, "failed": failed}


OPTIONS = {
    "as torch": "-std=c++17 --expt-relaxed-constexpr --expt-extended-lambda -Xcompiler -fPIC,-Wall -O3 --use_fast_math",
    "for debugging": "-g",
    "with lines": "-lineinfo -Xcudafe --diag_suppress=bad_friend_decl -diag-suppress 177",
    "relocatable": "-rdc=true",
    "for two architectures": "-gencode arch=compute_80,code=sm_80",
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_object_is_nvccs_own(nvcc, options):
    nvcc.write(STRONG)
    words = [*(["-gencode", "arch=compute_90,code=sm_90", "-DFACTOR=2"] if "gencode" in options else WORDS), *options.split()]
    _, alone = nvcc.alone(*words)
    first, made = nvcc.under_run(*words)
    # The order of strings for debuggers depends on temporary names.
    assert made == alone or (options == "-g" and len(made) == len(alone))
    assert nvcc.under_run(*words) == (counts(first["compiled"], 0), made)


def test_a_text_whose_module_id_has_a_process_number_is_compiled_once(nvcc):
    nvcc.write(WEAK)
    first, made = nvcc.under_run(*WORDS)
    assert nvcc.under_run(*WORDS) == (counts(first["compiled"], 0), made)
    assert nvcc.alone(*WORDS)[1] != made


@pytest.mark.parametrize("text, option", [(WEAK, "-rdc=true"), (UNNAMED, "-rdc=false")], ids=["relocatable", "unnamed"])
def test_a_module_id_with_a_process_number_that_a_linker_sees_is_made_in_each_run(nvcc, text, option):
    """A program may be linked of two objects of equal texts."""
    nvcc.write(text)
    objects = []
    for output in ("a.o", "b.o"):
        objects.append(nvcc.under_run(*WORDS, option, output=output)[1])
        assert "module id" in nvcc.report["uncacheable_reason"]
    assert objects[0] != objects[1]
    (nvcc.directory / "main.cpp").write_text("int main() {}")
    subprocess.run([nvcc.program, *WORDS, option, "a.o", "b.o", "main.cpp", "-o", "program"], cwd=nvcc.directory,
                   env=nvcc.environment, check=True, timeout=PATIENCE)


def test_every_input_is_in_the_key(nvcc):
    nvcc.write(STRONG)
    steps = nvcc.under_run(*WORDS)[0]["compiled"]
    assert nvcc.under_run(*WORDS)[0] == counts(steps, 0)
    assert nvcc.under_run("-arch=sm_90", "-DFACTOR=3")[0] == counts(0, steps)
    assert nvcc.under_run(*WORDS, "--use_fast_math")[0]["compiled"] > 0
    nvcc.environment["NVVM_SOMETHING"] = "x"
    assert nvcc.under_run(*WORDS)[0]["compiled"] == 1  # cicc, whose output is the same
    del nvcc.environment["NVVM_SOMETHING"]
    nvcc.write(STRONG.replace("*=", "+="))
    assert nvcc.under_run(*WORDS)[0] == counts(0, steps)
    nvcc.write(STRONG)
    assert nvcc.under_run(*WORDS)[0] == counts(steps, 0)


@pytest.mark.parametrize("kind", ["-ptx", "-cubin"])
def test_code_without_host_code_is_made_once(nvcc, kind):
    nvcc.write(WEAK)
    first, made = nvcc.under_run(*WORDS, kind, output="k")
    assert nvcc.under_run(*WORDS, kind, output="k") == (counts(first["compiled"], 0), made)
    assert first["compiled"] > 0


def test_an_error_is_nvccs_own_in_each_run(nvcc):
    nvcc.write(STRONG + "wrong")
    done, _ = nvcc.alone(*WORDS)
    for _ in range(2):
        assert nvcc.under_run(*WORDS) == (counts(0, 0, failed=1), None)
        assert (nvcc.status, nvcc.said) == (done.returncode, done.stderr)


def test_an_error_of_the_host_compiler_is_its_own_in_each_run(nvcc):
    nvcc.write(STRONG + 'void wrong() { asm("no such instruction"); }')
    done, _ = nvcc.alone(*WORDS)
    assert b"no such instruction" in done.stderr
    for _ in range(2):
        nvcc.under_run(*WORDS)
        assert nvcc.report["failed"] == 1 and nvcc.status == done.returncode != 0
        assert TEMPORARY.sub(b"", nvcc.said) == TEMPORARY.sub(b"", done.stderr)


def test_warnings_of_the_host_compiler_are_shown_in_each_run(nvcc):
    nvcc.write(STRONG + "int dangling(int a) { if (a) { return 1; } }\n")
    words = [*WORDS, "-Xcompiler", "-Wall", "-Xcudafe", "--diag_suppress=940"]
    done, alone = nvcc.alone(*words)
    assert b"-Wreturn-type" in done.stderr
    for _ in range(2):
        assert nvcc.under_run(*words)[1] == alone
        assert TEMPORARY.sub(b"", nvcc.said) == TEMPORARY.sub(b"", done.stderr)
    assert nvcc.report["compiled"] == 0


def test_a_header_that_only_the_host_compiler_reads_is_in_the_key(nvcc):
    nvcc.write(STRONG)
    words = [*WORDS, "-I."]
    header = nvcc.directory / "crt/host_runtime.h"
    header.parent.mkdir()
    header.write_text("#include_next <crt/host_runtime.h>\n")
    steps = nvcc.under_run(*words)[0]["compiled"]
    assert nvcc.under_run(*words)[0] == counts(steps, 0)
    header.write_text("#include_next <crt/host_runtime.h>\n#ifndef ADDED\n#define ADDED\nint added() { return 1; }\n#endif\n")
    report, made = nvcc.under_run(*words)
    assert report == counts(steps - 1, 1) and b"added" in made


def test_an_output_that_has_another_name_too_is_replaced(nvcc):
    """As the assembler does, which removes the file first."""
    nvcc.write(STRONG)
    nvcc.under_run(*WORDS)
    (nvcc.directory / "k.o").write_bytes(b"other")
    (nvcc.directory / "also").hardlink_to(nvcc.directory / "k.o")
    nvcc.under_run(*WORDS)
    assert (nvcc.directory / "also").read_bytes() == b"other"
    assert nvcc.report["compiled"] == 0


def test_clang_as_host_compiler_is_left_alone(nvcc):
    nvcc.write(STRONG)
    words = [*WORDS, "-ccbin", "clang++-14"]
    _, alone = nvcc.alone(*words)
    for _ in range(2):
        assert nvcc.under_run(*words)[1] == alone
        assert nvcc.report["forwarded"]["call not served"] == 1
        assert nvcc.report["refusal"].startswith("clang++")


def test_eight_concurrent_runs_make_each_step_once(nvcc, fake):
    nvcc.write(WEAK)
    command = [PLACES.cli, "--socket", nvcc.socket, "run", "--"]
    running = [subprocess.Popen([*command, *nvcc.words(*WORDS), f"{number}.o"], cwd=nvcc.directory, env=nvcc.environment)
               for number in range(8)]
    assert [process.wait(PATIENCE) for process in running] == [0] * 8
    assert len({nvcc.made(f"{number}.o") for number in range(8)}) == 1
    [user] = json.loads(fake.cli("--json", "stats", "--by", "user").stdout)["rows"]
    assert (user["deposits_made"], user["deposit_hits"]) == (4, 28)


def test_warnings_are_shown_in_each_run(nvcc):
    nvcc.write(STRONG + "static void unused() { int x; }\n")
    done, alone = nvcc.alone(*WORDS)
    assert b"warning" in done.stderr
    for _ in range(2):
        assert nvcc.under_run(*WORDS)[1] == alone
        assert nvcc.said == done.stderr


def test_an_edit_that_the_steps_do_not_see_is_a_hit_of_each_step(nvcc):
    """The whole run of nvcc is not a hit, because its source has changed. The sums have that run alone."""
    nvcc.program = nvcc.program.with_name("nvcc")
    nvcc.write(STRONG)
    first, made = nvcc.under_run(*WORDS)
    steps = nvcc.steps()["compiled"]
    assert first == counts(0, 1) and steps > 1 and nvcc.steps() == counts(0, steps)
    assert nvcc.under_run(*WORDS) == (counts(1, 0), made)
    assert nvcc.steps() == counts(0, 0)
    nvcc.write(STRONG + "// a comment")
    assert nvcc.under_run(*WORDS) == (counts(0, 1), made)
    assert nvcc.steps() == counts(steps, 0)


def test_the_report_shows_steps_below_their_run(nvcc):
    nvcc.program = nvcc.program.with_name("nvcc")
    nvcc.write(STRONG)
    nvcc.under_run(*WORDS)
    nvcc.write(STRONG + "// a comment")
    done = run_cli("--socket", nvcc.socket, "run", "--report=each", "--", *nvcc.words(*WORDS), "k.o", cwd=nvcc.directory,
                   environment=nvcc.environment)
    verdict, steps, run, *below, all_together = done.stderr.decode().splitlines()
    assert verdict.startswith("cccl-cache: 1 compiled (")
    assert re.fullmatch(r"  of the steps of nvcc, (\d+) of \1 compiles were hits", steps)
    assert run.startswith("cccl-cache: nvcc ")
    assert below and all(line.startswith("cccl-cache:   its step ") for line in below)
    assert all_together.startswith("cccl-cache: processes with compiles: 1; 1 compile in")


def test_nvcc_with_an_unknown_option_of_a_step_is_as_without_run(nvcc):
    nvcc.write(STRONG)
    words = [*WORDS, "-Xcicc", "-inline-budget=20000"]
    done, alone = nvcc.alone(*words)
    assert done.returncode == 0
    nvcc.under_run(*words)
    assert nvcc.under_run(*words)[1] == alone
    assert nvcc.report["forwarded"]["call not served"] == 1
