# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon's background work over files that a client has sent, after that client has ended. It is the same as for
files that the daemon can open. The tests run as root, because they mount."""

import os

import pytest
from client_elsewhere import ONE, TWO, build_here, elsewhere, tree  # noqa: F401
from conftest import PLACES, wait_for


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must mount"


def program(value):
    """Returns a program for each value, over the same headers."""
    return ("#include <value.h>\n#include <cuda_fp16.h>\n"
            f'extern "C" __global__ void k(__half* p) {{ *p = __half({value}.0f) + __half(VALUE); }}\n')


def test_headers_that_a_client_sent_before_are_precompiled(make_daemon, elsewhere):
    daemon = make_daemon(roots=(PLACES.cuda13,)).start()
    without = make_daemon("--pch-memory-limit", "0", roots=(PLACES.cuda13,), name="without").start()

    def parsed(count):
        wait_for(lambda: daemon.stats()["preambles_total"] >= count, "a preamble")

    def compare(value, spared):
        built, cubin = elsewhere.build(daemon, program(value))
        whole, same = elsewhere.build(without, program(value))
        assert [each["outcome"] for each in (built, whole)] == ["built", "built"]
        assert built["precompiled_headers"] == spared and cubin == same

    tree(elsewhere.inside, value=ONE)
    tree(elsewhere.place, value=TWO)  # the file that the daemon would find under the same name
    for value in (1, 2):
        compare(value, spared=False)
    parsed(1)
    compare(3, spared=True)
    tree(elsewhere.inside, value=TWO)
    for value in (4, 5):
        compare(value, spared=False)
    parsed(2)
    compare(6, spared=True)
    (elsewhere.inside / "second" / "value.h").write_text(ONE)  # this file is found earlier
    compare(7, spared=False)
    hit, _ = elsewhere.build(daemon, program(7))
    assert hit["outcome"] == "hit"


def test_a_build_that_shows_its_path_is_no_hit_for_another_path(make_daemon, directory, elsewhere):
    daemon = make_daemon(roots=(PLACES.cuda13,)).start()
    shows = ONE + "__device__ const char* where = __FILE__;\n"
    tree(elsewhere.inside, value=shows)
    built, cubin = elsewhere.build(daemon)
    assert str(elsewhere.place / "first" / "value.h").encode() in cubin
    again, same = elsewhere.build(daemon)
    assert (again["outcome"], again["key"], same) == ("hit", built["key"], cubin)
    tree(directory / "here", value=shows)
    here, other = build_here(daemon, directory / "here")
    assert here["outcome"] == "built" and other != cubin
