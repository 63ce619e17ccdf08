# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compilers are asked for their files. Other programs are not run, and no program is waited for long."""

import os
import shutil

import pytest
from cccl_cache._plugin import compilers
from patience import wait_for


def program(place, line):
    place.write_text(f"#!/bin/sh\n{line}\n")
    place.chmod(0o755)
    return str(place)


def is_read(pipe):
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("name", ["c++", "g++", "x86_64-linux-gnu-g++-12", "clang++-14"])
def test_a_host_compiler_behind_another_name_is_asked(tmp_path, name):
    found = compilers.compiler(program(tmp_path / name, f'exec {shutil.which("c++")} "$@"'), ())
    assert found is not None and any(os.path.basename(each) == "cc1plus" for each in found.files)


@pytest.mark.parametrize("name", ["nvcc.sh", "build", "gcc-wrapper", "distcc", "mycc", "nvcc2", "ld"])
def test_a_program_with_another_name_is_not_run(tmp_path, name):
    assert compilers.compiler(program(tmp_path / name, f'touch {tmp_path}/ran; exec c++ "$@"'), ()) is None
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["nvcc", "g++"])
def test_a_program_that_does_not_answer_is_ended_with_its_children_and_not_asked_again(tmp_path, monkeypatch, name):
    monkeypatch.setattr(compilers, "_LONGEST_ANSWER", 1.0)
    os.mkfifo(tmp_path / "never")
    path = program(tmp_path / name, f"echo one >> {tmp_path}/ran; cat {tmp_path}/never; true")
    assert [compilers.compiler(path, ()) for _ in range(2)] == [None, None]
    assert (tmp_path / "ran").read_text() == "one\n"
    wait_for(lambda: not is_read(tmp_path / "never"), "the end of the program's child")


def test_the_variables_that_compilers_read_are_told(monkeypatch):
    read = {"CPATH", "COLLECT_GCC_OPTIONS", "GCC_EXEC_PREFIX", "GNUTARGET", "LDEMULATION", "LD_RUN_PATH", "NVCC_APPEND_FLAGS",
            "OCG_FLAGS", "PTXAS_FLAGS", "SOURCE_DATE_EPOCH"}
    for name in read | {"HOME", "XLA_FLAGS", "PATH"}:
        monkeypatch.setenv(name, "/value")
    told = dict(compilers.variables())
    assert read <= set(told) and not {"HOME", "XLA_FLAGS", "PATH"} & set(told)
