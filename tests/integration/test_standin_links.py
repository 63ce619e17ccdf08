# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Links under `run` with inputs of every kind: the daemon links, with the bytes of nvJitLink in the process."""

import ctypes
import pathlib
import sys

import pytest
from conftest import PLACES
from link_calls import ANY, CUBIN, KERNEL, LTOIR, OPERATOR, PTX, binaries_of, compiled
from test_run import alone, knowing, library_of, served, under_run

PROGRAM = pathlib.Path(__file__).with_name("link_program.py")
KINDS = ("cubin", "fatbin", "object", "library")


class Inputs:
    """The inputs of links, as files. `kernel` calls the function of `operator`."""

    def __init__(self, toolkit, directory):
        self.root = getattr(PLACES, toolkit)
        self.directory = directory
        self.nvrtc = ctypes.CDLL(str(library_of(self.root)))
        self.kernel = self.file(LTOIR, "kernel.ltoir", self.made(KERNEL, "LTOIR", b"-dlto"))
        self.operator = {name: self.file(kind, name.replace(" ", "."), contents)
                         for name, (kind, contents) in binaries_of(self.nvrtc).items()}

    def made(self, source, kind, *options, arch=b"sm_90"):
        return compiled(self.nvrtc, source, [b"-arch=" + arch, *options], kind)

    def file(self, kind, name, contents):
        (self.directory / name).write_bytes(contents)
        return f"{kind}:{self.directory / name}"

    def words(self, options, *inputs):
        return (sys.executable, PROGRAM, library_of(self.root, "libnvJitLink"), options, *inputs)


@pytest.fixture(params=["cuda13", "cuda12"])
def inputs(request, directory):
    return Inputs(request.param, directory)


@pytest.fixture
def daemon(make_daemon, inputs):
    return knowing(make_daemon(roots=(inputs.root,)).start())


def check_served(daemon, words):
    """The first process has the link compiled, the second has a hit."""
    expected = alone(*words)
    assert b"complete 0" in expected
    for outcome in ((0, 1), (1, 0)):
        made, report = under_run(daemon.socket, *words)
        assert (made, served(report), report["calls"]) == (expected, outcome, 1)


def check_forwarded(daemon, words, reason="call not served"):
    made, report = under_run(daemon.socket, *words)
    assert (made, report["forwarded"][reason], report["calls"]) == (alone(*words), 1, 1)
    assert report["hits"] + report["compiled"] == 0
    return made


@pytest.mark.parametrize("kind", [*KINDS, *(f"any {kind}" for kind in KINDS)])
def test_a_link_of_ltoir_and_a_binary_is_served_in_any_order(daemon, inputs, kind):
    for files in ((inputs.kernel, inputs.operator[kind]), (inputs.operator[kind], inputs.kernel)):
        check_served(daemon, inputs.words("-arch=sm_90 -lto", *files))


@pytest.mark.parametrize("kind", ["ptx", "any ptx"])
def test_a_link_of_ptx_is_served(daemon, inputs, kind):
    check_served(daemon, inputs.words("-arch=sm_90", inputs.operator[kind]))
    check_served(daemon, inputs.words("-arch=sm_90 -lto", inputs.kernel, inputs.operator[kind]))


def test_an_input_has_the_result_code_of_the_real_library(daemon, inputs):
    other = inputs.file(CUBIN, "other.cubin", inputs.made(OPERATOR, "CUBIN", b"-rdc=true", arch=b"sm_100"))
    made = check_forwarded(daemon, inputs.words("-arch=sm_90 -lto", inputs.kernel, other))
    assert b"add other.cubin 0" not in made
    wrong = inputs.file(PTX, "wrong.ptx", b".version 8.0\n.target sm_90\n.address_size 64\nnonsense;\n")
    made = check_forwarded(daemon, inputs.words("-arch=sm_90", wrong))
    assert b"add wrong.ptx 0" not in made
    garbage = inputs.file(ANY, "garbage", b"nothing of the kind")
    check_forwarded(daemon, inputs.words("-arch=sm_90", garbage))


def test_ptx_that_needs_a_later_input_is_linked_by_the_real_library(daemon, inputs):
    kernel = inputs.file(PTX, "kernel.ptx", inputs.made(KERNEL, "PTX", b"-rdc=true", arch=b"compute_90"))
    check_forwarded(daemon, inputs.words("-arch=sm_90", kernel, inputs.operator["ptx"]))
    check_served(daemon, inputs.words("-arch=sm_90", inputs.operator["ptx"]))


def test_binaries_without_ltoir_are_linked_by_the_real_library(daemon, inputs):
    check_forwarded(daemon, inputs.words("-arch=sm_90", inputs.operator["cubin"]))


def test_a_link_with_a_named_file_is_made_by_the_real_library(daemon, inputs):
    check_forwarded(daemon, inputs.words("-arch=sm_90 -lto", inputs.kernel, f"file:{inputs.operator['cubin']}"))
