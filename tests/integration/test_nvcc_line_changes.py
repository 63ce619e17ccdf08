# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of nvcc whose headers change between runs, two at once, and killed in the middle: each run does what nvcc alone
does with the same files. CI runs this file in its turn."""

import contextlib
import os
import signal

import pytest
from nvcc_lines import LINES, VALUE, Project, check_report
from nvcc_toolkit import Toolkit
from patience import wait_for
from standin import ended


@pytest.fixture
def toolkit(directory, make_daemon):
    return Toolkit(directory, make_daemon().start().socket)


def run_two(project, line):
    """Runs a line twice at once. Returns what each of the two has done."""
    project.remove_products()
    running = [project.start(line) for _ in range(2)]
    said = [ended(process) for process in running]
    return [project.done(line, each) for each in said]


def run_after_a_killed_one(project, line):
    """Runs a line, and kills nvcc and its launcher once nvcc has begun. Then runs it again in what the first run has left."""
    project.remove_products()
    killed = project.start(line)
    wait_for(lambda: project.temporary_files() or killed.poll() is not None, "nvcc's first temporary file")
    with contextlib.suppress(ProcessLookupError):  # it may have ended
        os.killpg(killed.pid, signal.SIGKILL)
    ended(killed)
    wait_for(lambda: not project.processes_of(killed.pid), "the end of all its processes")
    for file in project.temporary_files():
        file.unlink()
    return project.done(line, ended(project.start(line)))


CHANGES = {
    "a header is edited": ("second/value.h", VALUE.format(value=2)),
    "a header appears earlier in the path": ("first/value.h", VALUE.format(value=3)),
    "a header that was asked for appears": ("second/maybe.h", "int maybe() { return 1; }\n"),
    "a header is gone": ("second/value.h", None),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_run_does_what_nvcc_does_with_the_same_files(toolkit, line):
    project = Project(toolkit)
    before = project.run(line, toolkit.alone)
    assert project.run(line, toolkit.under_run) == before
    for change, (name, text) in CHANGES.items():
        with project.changed(name, text):
            alone = project.run(line, toolkit.alone)
            kept = line.how == "kept" and alone.status == 0
            if kept and change == "a header is edited":
                assert run_two(project, line) == [alone, alone], change
            elif kept and change == "a header appears earlier in the path":
                assert run_after_a_killed_one(project, line) == alone, change
            else:
                assert project.run(line, toolkit.under_run) == alone, change
            if kept:
                assert project.run(line, toolkit.under_run) == alone, change
                check_report(line, toolkit.report(), again=True)
    assert project.run(line, toolkit.under_run) == before
    check_report(line, toolkit.report(), again=True)
