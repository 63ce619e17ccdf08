# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Programs under `run` that load libNVVM: the daemon compiles, and the program observes the same as without `run`."""

import pathlib
import sys

import pytest
from conftest import PLACES
from test_run import alone, knowing, served, under_run
from test_standin_calls import functions_of

PROGRAM = pathlib.Path(__file__).with_name("nvvm_program.py")


class Nvvm:
    def __init__(self, toolkit):
        self.root = pathlib.Path(getattr(PLACES, toolkit))
        self.library = next(path.resolve() for path in self.root.resolve().rglob("libnvvm.so*"))
        self.libdevice = next(self.root.resolve().rglob("libdevice.10.bc"))

    def words(self, *words):
        return (sys.executable, PROGRAM, self.library, self.libdevice, *words)


@pytest.fixture(params=["cuda13", "cuda12"])
def nvvm(request):
    return Nvvm(request.param)


@pytest.fixture
def daemon(make_daemon, nvvm):
    return knowing(make_daemon(roots=(nvvm.root,)).start())


@pytest.mark.parametrize("options", ["-arch=compute_90", "-arch=compute_90 -opt=0 -ftz=1", "-arch=compute_90 -gen-lto"])
def test_a_compile_of_nvvm_ir_is_served(daemon, nvvm, options):
    words = nvvm.words("once", options)
    expected = alone(*words)
    assert b"CompileProgram 0" in expected
    for outcome in ((0, 1), (1, 0)):
        made, report = under_run(daemon.socket, *words)
        assert (made, served(report), report["calls"]) == (expected, outcome, 1)


NUMBA = """
import hashlib, math
from numba_backends import NumbaCuda
numba = NumbaCuda()
def kernel(x):
    x[0] = math.sin(x[0]) * math.pow(x[0], 3.5)
for lto in (True, False):
    print(hashlib.sha256(numba.cubin(kernel, numba.types.float64[::1], lto=lto)).hexdigest())
"""


def test_kernels_of_numba_cuda_are_served(make_daemon):
    """A kernel is compiled by libNVVM and linked by nvJitLink, from LTO-IR and from PTX."""
    tests, toolkit = pathlib.Path(__file__).parents[1], pathlib.Path(PLACES.cuda13)
    packages = tests.parent / ".toolchains"
    environment = {"PYTHONPATH": f"{tests / 'plugins'}:{packages / 'numba'}:{packages / 'cuda-python'}",
                   "CUDA_HOME": str(toolkit), "LD_LIBRARY_PATH": str(toolkit / "lib")}
    daemon = knowing(make_daemon(roots=(toolkit,)).start())
    words = (sys.executable, "-c", NUMBA)
    expected = alone(*words, **environment)
    made, report = under_run(daemon.socket, *words, **environment)
    assert (made, served(report)) == (expected, (0, report["calls"])) and report["calls"] >= 4
    made, report = under_run(daemon.socket, *words, **environment)
    assert (made, served(report)) == (expected, (report["calls"], 0))


def test_every_function_of_libnvvm_behaves_like_the_real_one(daemon, nvvm, directory):
    words = nvvm.words("all")
    expected = alone(*words)
    called = {line.split()[0] for line in expected.decode().splitlines()}
    assert {each.removeprefix("nvvm") for each in functions_of("nvvm")} <= called
    for socket in (daemon.socket, daemon.socket, directory / "nothing"):
        made, _ = under_run(socket, *words)
        assert made.splitlines() == expected.splitlines()


# The function with this number creates a program. Only releases from 13.0 on have it.
TWO_RELEASES = """
import ctypes, sys
for path in sys.argv[1:]:
    function = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)["__nvvmHandle"]
    function.restype = ctypes.c_void_p
    print(function(0x867) is None)
"""


def test_two_releases_in_a_process_answer_for_themselves(directory):
    words = (sys.executable, "-c", TWO_RELEASES, *(Nvvm(toolkit).library for toolkit in ("cuda12", "cuda13")))
    made, _ = under_run(directory / "nothing", *words)
    assert made == alone(*words) == b"True\nFalse\n"


def test_a_compile_that_fails_is_made_by_the_real_library(daemon, nvvm):
    words = nvvm.words("once", "-arch=compute_90 -bogus")
    made, report = under_run(daemon.socket, *words)
    assert (made, report["forwarded"]["call not served"], report["calls"]) == (alone(*words), 1, 1)


def test_another_producer_in_the_environment_is_in_the_lto_ir(daemon, nvvm):
    words, producer = nvvm.words("once", "-arch=compute_90 -gen-lto"), {"LLVM_OVERRIDE_PRODUCER": "another"}
    expected = alone(*words, **producer)
    assert expected != alone(*words)
    made, report = under_run(daemon.socket, *words, **producer)
    assert (made, report["forwarded"]["call not served"], report["calls"]) == (expected, 1, 1)


def test_a_process_that_has_internal_functions_compiles_in_the_real_library(daemon, nvvm):
    words = nvvm.words("internal")
    made, report = under_run(daemon.socket, *words)
    assert made == alone(*words)
    assert (report["compiled"], report["forwarded"]["call not served"], report["calls"]) == (1, 1, 2)


def test_a_libnvvm_that_the_daemon_lacks_compiles_in_the_process(make_daemon, nvvm):
    other = PLACES.cuda12 if nvvm.root == pathlib.Path(PLACES.cuda13) else PLACES.cuda13
    words = nvvm.words("once", "-arch=compute_90")
    made, report = under_run(knowing(make_daemon(roots=(other,)).start()).socket, *words)
    assert (made, report["forwarded"]["library unknown to daemon"]) == (alone(*words), 1)
