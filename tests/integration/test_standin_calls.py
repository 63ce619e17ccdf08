# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Generated sequences of calls of NVRTC and nvJitLink: under `run` a program observes what it observes without, call by
call, right calls and wrong ones, with a daemon that compiles, one that knows all, and none."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PLACES, run_cli
from test_run import knowing, library_of

HERE = pathlib.Path(__file__).parent
SEED = 1


class Program:
    """A driver over the libraries of one installation."""

    def __init__(self, driver, toolkit, directory, count):
        self.root = getattr(PLACES, toolkit)
        libraries = [library_of(self.root)]
        if driver == "link_calls.py":
            libraries.append(library_of(self.root, "libnvJitLink"))
        self.words = [sys.executable, HERE / driver, *libraries, str(SEED), str(count)]
        self.environment = {"LD_LIBRARY_PATH": str(libraries[0].parent)}
        self.directory = directory

    def alone(self):
        done = subprocess.run(self.words, capture_output=True, text=True, cwd=self.directory,
                              env={"PATH": os.environ["PATH"], **self.environment})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def under_run(self, socket):
        done = run_cli("--socket", socket, "run", "--report", "--", *self.words, cwd=self.directory,
                       environment=self.environment)
        return done.stdout.decode().splitlines(), done.stderr.decode()


@pytest.mark.parametrize("toolkit", ["cuda13", "cuda12"])
@pytest.mark.parametrize("driver, count", [("nvrtc_calls.py", 120), ("link_calls.py", 60)])
def test_a_program_observes_the_same_calls(make_daemon, directory, driver, count, toolkit):
    program = Program(driver, toolkit, directory, count)
    daemon = knowing(make_daemon(roots=(program.root,)).start())
    expected = program.alone()
    assert len(expected) > count
    for socket in (daemon.socket, daemon.socket, directory / "nothing"):
        seen, report = program.under_run(socket)
        differing = [pair for pair in zip(expected, seen) if pair[0] != pair[1]]
        assert not differing[:5], report
        assert len(seen) == len(expected)
