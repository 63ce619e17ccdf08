# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Triton without our plug-in, with the stand-in in the place where it looks for ptxas."""

import pytest
from standin import LATER, StandIn
from triton_processes import PTXAS, Node, in_step


@pytest.fixture
def standin(directory, fake):
    return StandIn(directory / "standin", fake.socket, real=PTXAS)


@pytest.fixture
def node(directory, fake, standin):
    place = directory / "node"
    place.mkdir()
    node = Node(place, fake.socket)
    yield node
    node.end()


def start(node, standin, count, name, **environment):
    """Starts processes with separate caches of Triton. The tool is old enough for its version to be kept."""
    paths = dict.fromkeys(["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"], str(standin.program))
    given = {**standin.environment, **paths, **LATER, **environment}
    return [node.start(plugin=False, **given, TRITON_CACHE_DIR=str(node.directory / f"{name}{number}"))[0]
            for number in range(count)]


def test_kernels_are_assembled_once_for_processes_with_different_caches(node, standin, fake):
    [alone] = node.start(plugin=False, TRITON_CACHE_DIR=str(node.directory / "alone"))
    right = in_step([alone], [1, 2])
    assert in_step(start(node, standin, 4, "first"), [1, 2]) == [of_kernel * 4 for of_kernel in right]
    ran = len(standin.runs())
    assert fake.stats()["leases_total"] == 2  # one process compiled each kernel
    assert in_step(start(node, standin, 2, "later"), [1, 2]) == [of_kernel * 2 for of_kernel in right]
    assert len(standin.runs()) == ran  # the tool was not even asked for its version


def test_errors_of_ptxas_reach_triton(node, standin):
    [process] = start(node, standin, 1, "working")  # the answer to its question for the version is kept
    assert len(process.ask("compile", 1)) == 64
    [process] = start(node, standin, 1, "failing", ENDS="fail")
    assert process.ask("compile", 2) == "PTXASError"
