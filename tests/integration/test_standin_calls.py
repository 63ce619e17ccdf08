# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Every function of NVRTC and nvJitLink, and generated sequences of calls: under `run` a program observes what it observes
without, call by call, right calls and wrong ones, with a daemon that compiles, one that knows all, one that goes in the
middle, and none.
scripts/differential does this for more releases and with more sequences."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PLACES, run_cli, wait_for
from test_run import knowing, library_of

HERE = pathlib.Path(__file__).parent
INTERPOSE = HERE.parents[1] / "client/interpose"
SEED = 1
SEQUENCES = int(os.environ.get("CCCL_CACHED_TEST_SEQUENCES", "0"))  # else each test has its own


class Program:
    """A driver over the libraries of one installation."""

    def __init__(self, driver, toolkit, directory, count=None):
        self.root = getattr(PLACES, toolkit)
        libraries = [library_of(self.root)]
        if driver != "nvrtc_calls.py":
            libraries.append(library_of(self.root, "libnvJitLink"))
        self.words = [sys.executable, HERE / driver, *libraries, *([str(SEED), str(count)] if count else ())]
        self.environment = {"LD_LIBRARY_PATH": str(libraries[0].parent)}
        self.directory = directory

    def alone(self):
        done = subprocess.run(self.words, capture_output=True, text=True, cwd=self.directory,
                              env={"PATH": os.environ["PATH"], **self.environment})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def under_run(self, socket, meanwhile=lambda: None):
        words = [PLACES.cli, "--socket", str(socket), "run", "--report", "--", *map(str, self.words)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory,
                              env={"PATH": os.environ["PATH"], **self.environment}) as program:
            meanwhile()
            output, report = program.communicate(timeout=1200)
        assert program.returncode == 0, report
        return output.splitlines(), report


def compare(expected, observed):
    seen, report = observed
    differing = [pair for pair in zip(expected, seen) if pair[0] != pair[1]]
    assert not differing[:5], report
    assert len(seen) == len(expected)


def functions_of_the_stand_ins():
    for table in INTERPOSE.rglob("*.names"):
        rows = [line.split()[0] for line in table.read_text().splitlines() if line[0] != "#" and line.split()[0] != "levels"]
        # __nvJitLinkCreate_* is nvJitLinkCreate, as each release names it.
        yield from (row.removeprefix("__").removesuffix("_*") if row.endswith("_*") else row for row in rows)


@pytest.mark.parametrize("toolkit", ["cuda13", "cuda12"])
def test_every_function_does_what_the_real_one_does(make_daemon, directory, toolkit):
    program = Program("every_name_calls.py", toolkit, directory)
    daemon = knowing(make_daemon(roots=(program.root,)).start())
    expected = program.alone()
    assert set(functions_of_the_stand_ins()) <= {line.split()[0] for line in expected}
    for socket in (daemon.socket, daemon.socket, directory / "nothing"):
        compare(expected, program.under_run(socket))


DESTROYED = """
import ctypes, sys
library, program = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
library.nvrtcCreateProgram(ctypes.byref(program), b"", None, 0, None, None)
copy, size = ctypes.c_void_p(program.value), ctypes.c_size_t()
library.nvrtcDestroyProgram(ctypes.byref(program))
print(library.nvrtcCompileProgram(copy, 0, None), library.nvrtcGetPTXSize(copy, ctypes.byref(size)),
      library.nvrtcDestroyProgram(ctypes.byref(copy)))
"""
INVALID_PROGRAM = "4"


def test_a_program_that_was_destroyed_is_invalid(directory):
    """The real library may die of it."""
    done = run_cli("--socket", directory / "nothing", "run", "--", sys.executable, "-c", DESTROYED, library_of(PLACES.cuda13))
    assert done.stdout.decode().split() == [INVALID_PROGRAM] * 3


@pytest.mark.parametrize("toolkit", ["cuda13", "cuda12"])
@pytest.mark.parametrize("driver, count", [("nvrtc_calls.py", 120), ("link_calls.py", 60)])
def test_a_program_observes_the_same_calls(make_daemon, directory, driver, count, toolkit):
    program = Program(driver, toolkit, directory, SEQUENCES or count)
    daemon = knowing(make_daemon(roots=(program.root,)).start())
    expected = program.alone()
    assert len(expected) > count
    for socket in (daemon.socket, daemon.socket, directory / "nothing"):
        compare(expected, program.under_run(socket))


@pytest.mark.parametrize("toolkit", ["cuda13", "cuda12"])
@pytest.mark.parametrize("end", ["kill", "freeze"])
def test_a_program_observes_the_same_calls_although_the_daemon_goes_in_the_middle(make_daemon, directory, end, toolkit):
    program = Program("nvrtc_calls.py", toolkit, directory, SEQUENCES or 40)
    daemon = knowing(make_daemon(roots=(program.root,)).start())

    def once_it_compiles():
        wait_for(lambda: daemon.stats()["compiles_total"] >= 3, "a few compiles")
        getattr(daemon, end)()

    observed = program.under_run(daemon.socket, once_it_compiles)
    assert "not served" in observed[1]
    compare(program.alone(), observed)
