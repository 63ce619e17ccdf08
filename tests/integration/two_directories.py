# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program in two directories whose names differ in length, built by the daemon and by raw NVRTC."""

import re

import pytest
from conftest import PLACES
from raw import SEED, raw, text_of


@pytest.fixture
def place(directory):
    """Two directories whose names differ in length."""
    for name in ("x", "yyyy"):
        (directory / name).mkdir()
    return directory


def outcome_and_ptx(daemon, program, *arguments):
    output = program.with_suffix(".ptx")
    done = daemon.cli("--json", "build", str(program), "--arch", "sm_90", "--emit", "ptx", "-o", str(output),
                      f"--option={SEED}", *arguments)
    return re.search(r'"outcome": "(\w+)"', done.stdout.decode())[1], output.read_bytes()


def raw_ptx(program, *options):
    return text_of(raw(kind="nvrtc", root=PLACES.cuda13, source=program.read_text(), name=str(program),
                       options=["-arch=sm_90", SEED, *options])["ptx"])


def check_each_directory(daemon, place, source, *arguments, headers=None):
    seen = set()
    for name in ("x", "yyyy"):
        for header, text in (headers or {}).items():
            (place / name / header).write_text(text)
        program = place / name / "f.cu"
        program.write_text(source)
        expected = raw_ptx(program, *arguments)
        for _ in range(2):
            assert outcome_and_ptx(daemon, program, *(f"--option={each}" for each in arguments))[1] == expected, source
        seen.add(expected)
    return seen
