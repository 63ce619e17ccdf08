# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A second run of nvcc writes what the first one wrote, and nothing is looked up from what has changed."""

import pytest
from nvcc_toolkit import Toolkit


@pytest.fixture
def toolkit(directory, make_daemon):
    return Toolkit(directory, make_daemon().start().socket)


def test_a_second_run_is_a_hit_until_a_header_changes(toolkit):
    assert toolkit.how() == "made"
    made = (toolkit.work / "a.o").read_bytes()
    (toolkit.work / "a.o").unlink()
    assert toolkit.how() == "hit"
    assert (toolkit.work / "a.o").read_bytes() == made
    (toolkit.work / "second/value.h").write_text("#define VALUE 2\n")
    assert toolkit.how() == "made"
    assert toolkit.how() == "hit"
    (toolkit.work / "second/value.h").write_text("#define VALUE 1\n")
    assert toolkit.how() == "hit"
    assert (toolkit.work / "a.o").read_bytes() == made


def test_a_header_that_was_looked_up_in_vain_makes_a_miss_once_it_is_there(toolkit):
    (toolkit.work / "a.cu").write_text("#if __has_include(<maybe.h>)\nint maybe() { return 1; }\n#endif\n#include <value.h>\n")
    assert [toolkit.how(), toolkit.how()] == ["made", "hit"]
    (toolkit.work / "first/value.h").write_text("int other() { return 2; }\n")
    assert toolkit.how() == "made"
    assert b"other" in (toolkit.work / "a.o").read_bytes()
    assert toolkit.how() == "hit"
    (toolkit.work / "second/maybe.h").write_text("")
    assert toolkit.how() == "made"
    assert b"maybe" in (toolkit.work / "a.o").read_bytes()
    (toolkit.work / "second/maybe.h").unlink()
    (toolkit.work / "first/value.h").unlink()
    assert toolkit.how() == "hit"
    assert b"maybe" not in (toolkit.work / "a.o").read_bytes()
