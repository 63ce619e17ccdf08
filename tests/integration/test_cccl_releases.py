# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon knows the lines of CCCL's releases that name paths (cccl_lines.h). CCCL_CACHED_TEST_RELEASES names
further directories, divided by colons. Each holds the unpacked wheel or archive of one release."""

import os
import pathlib
import subprocess

import pytest
from conftest import PLACES

TOOLCHAINS = pathlib.Path(__file__).parents[2] / ".toolchains"
INSTALLED = [PLACES.cuda13, PLACES.cuda12, TOOLCHAINS / "cupy", TOOLCHAINS / "cuda-python", TOOLCHAINS / "cuda-python-before"]
OTHERS = [each for each in os.environ.get("CCCL_CACHED_TEST_RELEASES", "").split(":") if each]


def roots_of(place):
    """Returns the directories that a program names by -I."""
    found = {version.parents[2] for version in pathlib.Path(place).rglob("cuda/std/version")}
    return found | {debug.parents[1] for debug in pathlib.Path(place).rglob("cub/util_debug.cuh")}


@pytest.mark.parametrize("place", [*INSTALLED, *OTHERS], ids=lambda place: pathlib.Path(place).name)
def test_the_daemon_finds_no_path_that_can_become_a_number_in_a_release_of_cccl(place):
    roots = roots_of(place)
    assert roots
    for root in roots:
        done = subprocess.run([os.environ["CCCL_CACHED_TEST_PATH_USES"], root], capture_output=True, check=True)
        assert done.stdout.decode() == "", root
