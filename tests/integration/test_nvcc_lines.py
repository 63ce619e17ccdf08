# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of nvcc: files, modes, messages and exit status of a first and a second run under `run` are those of nvcc alone."""

import pytest
from nvcc_lines import LINES, Project, check_report
from nvcc_toolkit import Toolkit


@pytest.fixture
def toolkit(directory, make_daemon):
    return Toolkit(directory, make_daemon().start().socket)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_run_does_what_nvcc_does(toolkit, line):
    project = Project(toolkit)
    alone = project.run(line, toolkit.alone)
    for again in (False, True):
        assert project.run(line, toolkit.under_run) == alone
        check_report(line, toolkit.report(), again)
