# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Packages' own tests, and programs of ours, run twice under `cccl-cache-cli run`, the second time in another order. Their
results are those without `run`. Each compile that the second process makes again is explained.

cuda.core and cuda.bindings publish no tests, but the tests of numba-cuda call them."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from behind_run import behind, reported
from patience import wait_for
from places import PLACES
from test_cupy_processes import NAMES, WRONG

HERE = pathlib.Path(__file__).parent
TOOLCHAINS = HERE.parents[1] / ".toolchains"
CUDA_CORE = """
import hashlib, json, sys
from cuda.core import Linker, LinkerOptions, Program, ProgramOptions
KERNEL = 'extern "C" __device__ int f(int); extern "C" __global__ void k(int* x) { *x = f(*x); }'
SOURCES = {"kernel": KERNEL, "one": 'extern "C" __device__ int f(int x) { return x + 1; }',
           "two": 'extern "C" __device__ int f(int x) { return x + 2; }'}
chosen = {"arch": "sm_90", "link_time_optimization": True}
parts = {name: Program(SOURCES[name], "c++", ProgramOptions(**chosen)).compile("ltoir") for name in sys.argv[1:]}
made = {name: Linker(parts["kernel"], parts[name], options=LinkerOptions(**chosen)).link("cubin").code
        for name in parts if name != "kernel"}
json.dump({"made": {name: hashlib.sha256(code).hexdigest() for name, code in made.items()}}, sys.stdout)
"""


@dataclasses.dataclass
class Program:
    """A program that prints {"made": ...}, and the expected counts of its compiles and links."""

    release: str  # below .toolchains
    words: tuple
    orders: tuple  # the further words for the first and the second process
    calls: int
    forwarded: int = 0  # calls that `run` does not serve
    numbered: bool = False  # whether the names in its LTO-IR contain a count of the process
    place: pathlib.Path = HERE


# The explanations of modules and links whose names contain a count. numba-cuda compiles a module with and without -gen-lto, so
# the nearest build of a new module may be the same module with the other option.
NUMBERED = {("link", "differs", "input"), ("nvvm", "differs", "input"), ("nvvm", "differs", "option")}
UPSTREAM, CUPY = HERE / "upstream_program.py", HERE / "cupy_program.py"
PROGRAMS = {
    # Forwarded: an architecture that NVRTC does not know.
    "cupy_tests": Program("cupy", (UPSTREAM, "cupy"), ((), ("backwards",)), 27, forwarded=1, place=TOOLCHAINS / "cupy-tests"),
    "numba_tests": Program("numba", (UPSTREAM, "numba"), ((), ("backwards",)), 50, numbered=True),
    "cupy": Program("cupy", (CUPY,), (NAMES + WRONG, WRONG[::-1] + NAMES[::-1]), 10),
    "cuda_core": Program("cuda-python", ("-c", CUDA_CORE), (("kernel", "one", "two"), ("two", "one", "kernel")), 5),
}


def start(program, order, place, socket, behind):
    """Starts a process without plug-ins and with its own caches."""
    (place / "tmp").mkdir(parents=True)
    paths = [TOOLCHAINS / program.release, TOOLCHAINS / "cuda-python", TOOLCHAINS / "upstream", os.environ["PYTHONPATH"]]
    return subprocess.Popen(
        [*behind, sys.executable, *program.words, *order], cwd=program.place, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ":".join(map(str, paths)), "CCCL_CACHE_SOCKET": str(socket), "CCCL_CACHE": "0",
             "CUPY_CACHE_DIR": str(place / "cache"), "TMPDIR": str(place / "tmp"), "CUPY_PROGRAM_NVRTC": PLACES.cuda13,
             "CUPY_PROGRAM_HEADERS": str(place.parent)})


def finish(process):
    """Returns (the result, the other output)."""
    answer, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    return json.loads(answer)["made"], said


def explanations(daemon, report):
    """Returns, for each compile of the daemon for a process, its kind and its differences from earlier compiles."""
    [pid] = (process["pid"] for process in report["processes"])
    built = re.compile(rf"pid={pid} kind=(\w+) outcome=built .*key=(\w+)")
    wait_for(lambda: len(built.findall(daemon.log.read_text())) == report["compiled"], "each compile in the log")
    for kind, key in built.findall(daemon.log.read_text()):
        told = json.loads(daemon.cli("--json", "explain", key).stdout)
        yield kind, told["verdict"], *{each["field"] for each in told["differences"]}


def without_digests(made):
    return {name: re.sub("[0-9a-f]{64}", "", str(each)) for name, each in made.items()}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_second_process_in_another_order_compiles_only_explained_misses(make_daemon, directory, program):
    real = make_daemon("--log-level", "debug", roots=(PLACES.cuda13,)).start()
    (directory / "value.h").write_text("#define VALUE 1\n")
    real.cli("toolchains")  # waits until the daemon has read its toolchains
    order, other_order = program.orders
    under = behind(report=True)
    both = [start(program, order, directory / name, real.socket, words) for name, words in (("alone", ()), ("first", under))]
    (alone, _), (first, said) = map(finish, both)
    report, forwarded = reported(said)
    assert first == alone
    assert report["calls"] >= program.calls and report["compiled"] > 0
    assert sum(forwarded.values()) == forwarded.get("call not served", 0) == program.forwarded

    # A program in another directory is compiled again until the daemon knows that the directory's name does not matter.
    wait_for(lambda: real.stats()["idle_jobs"] == 0, "the proofs")
    second, said = finish(start(program, other_order, directory / "second", real.socket, under))
    again, forwarded_again = reported(said)
    assert without_digests(second) == without_digests(first) and (program.numbered or second == first)
    assert again["calls"] == report["calls"] and again["failed"] == report["failed"] and forwarded_again == forwarded
    assert again["compiled"] < report["compiled"]
    assert set(explanations(real, again)) <= (NUMBERED if program.numbered else set())
