# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Triton without a plug-in of ours, with the stand-in where it looks for ptxas."""

import pytest
from standin import StandIn
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


def start(node, standin, count, name):
    """Processes that share nothing of Triton's own."""
    path = str(standin.program)
    return [node.start(plugin=False, **{**standin.environment, "TRITON_PTXAS_PATH": path, "TRITON_PTXAS_BLACKWELL_PATH": path,
                                        "TRITON_CACHE_DIR": str(node.directory / f"{name}{number}")})[0]
            for number in range(count)]


def test_kernels_are_assembled_once_for_processes_with_caches_of_their_own(node, standin, fake):
    [alone] = node.start(plugin=False, TRITON_CACHE_DIR=str(node.directory / "alone"))
    right = in_step([alone], [1, 2])
    assert in_step(start(node, standin, 4, "first"), [1, 2]) == [of_kernel * 4 for of_kernel in right]
    ran = len(standin.runs())
    assert fake.stats()["leases_total"] == 2  # each kernel's by one process
    assert in_step(start(node, standin, 2, "later"), [1, 2]) == [of_kernel * 2 for of_kernel in right]
    assert len(standin.runs()) == ran  # not even to ask for the version


def test_errors_of_ptxas_reach_triton(node, standin):
    [process] = start(node, standin, 1, "failing")
    process.tell("compile", 1)
    assert len(process.hear()) == 64
    [process] = node.start(plugin=False, **{**standin.environment, "ENDS": "fail", "TRITON_PTXAS_PATH": str(standin.program),
                                            "TRITON_CACHE_DIR": str(node.directory / "other")})
    assert process.ask("compile", 2) == "PTXASError"
