# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A file system whose times the local kernel does not set. Its metadata proves nothing about a file, so the daemon
reads the contents for each build."""

import os

import pytest
from fuse_file import NAME, FuseFile

ONE, TWO = b"#define N 1\n", b"#define N 2\n"
PROGRAM = f'#include <{NAME}>\nextern "C" __global__ void k(int* p) {{ *p = N; }}\n'


@pytest.fixture
def served(directory):
    assert os.geteuid() == 0, "run as root (scripts/test does): the test mounts a file system"
    place = directory / "served"
    place.mkdir()
    file = FuseFile(place, ONE)
    yield file
    file.close()


def test_contents_that_change_while_all_times_stay_are_noticed(lasting, served):
    def build():
        told = lasting.build_json(PROGRAM, "-I", served.directory)
        return told["outcome"], told["key"]

    before = os.stat(f"{served.directory}/{NAME}")
    outcome, first = build()
    assert outcome == "built"
    reads = served.reads
    assert build() == ("hit", first)
    assert served.reads > reads
    served.contents = TWO
    assert os.stat(f"{served.directory}/{NAME}") == before
    outcome, second = build()
    assert outcome == "built"
    assert second != first
    served.contents = ONE
    assert build() == ("hit", first)
