# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/guide-julia.md run unchanged."""

import re

from sessions import SOURCES

EXAMPLES = re.findall(r"^```julia\n(.*?)^```", (SOURCES / "docs/guide-julia.md").read_text(), re.DOTALL | re.MULTILINE)


def test_the_complete_program_builds_hits_and_builds_without_a_daemon(depot, lasting):
    told = [depot.run(EXAMPLES[0], socket).stdout.split() for socket in (lasting.socket, lasting.socket, "/nobody")]
    assert [each[0] for each in told] == ["built", "hit", "local"]
    assert told[0][1:] == told[1][1:] == told[2][1:]
    assert told[0][2].startswith("_Z5scaleIf")


def test_the_ptx_of_a_second_session_hits(depot, lasting):
    first, second = (line.split() for line in depot.run(EXAMPLES[1], lasting.socket).stdout.splitlines())
    assert (first[0], second[0]) == ("built", "hit")
    assert first[1] == second[1]


def test_the_result_of_a_program_is_deposited(depot, lasting):
    for example in (EXAMPLES[2], EXAMPLES[2].replace('"what was made"  #', 'error("made again")  #')):
        assert depot.run(example, lasting.socket).stdout == "what was made\n"


def test_the_package_that_is_shown_is_the_shape_of_the_example(depot):
    shown = EXAMPLES[3].replace("DownstreamPackage", "ScaleKernels")
    example = (SOURCES / "examples/julia-package/src/ScaleKernels.jl").read_text()
    lines = [line for line in shown.splitlines() if line]
    assert all(line in example.splitlines() for line in lines)
    assert len(lines) == 7
