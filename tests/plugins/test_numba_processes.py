# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that compile the same kernels of numba-cuda in another order: the second compiles nothing."""

import json
import os
import pathlib
import random
import subprocess
import sys

import numba_device  # noqa: F401
import numba_kernels
import pytest

PROGRAM = pathlib.Path(__file__).with_name("numba_program.py")
# Two functions of equal code that have an array each keep numba's names, which count up in a process.
OWN_NAMES = {"shared_twins"}


def start(daemon, mode, *names, seed="1", **variables):
    return subprocess.Popen([sys.executable, PROGRAM, mode, *names], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "CCCL_CACHE_SOCKET": str(daemon.socket), "PYTHONHASHSEED": seed, **variables})


def finish(process):
    answer, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    return json.loads(answer)


def shuffled(names):
    names = list(names)
    random.Random(7).shuffle(names)
    return names


def built(daemon):
    """How many builds a compiler of the daemon made."""
    return daemon.stats()["compiles_total"]


def test_whole_kernels_are_compiled_once_for_all_processes(real):
    first = finish(start(real, "whole", *numba_kernels.NAMES))
    assert not first["status"]["errors"] and not first["status"]["not_cached"]
    assert first["status"]["compiles"] == len(numba_kernels.NAMES)
    second = finish(start(real, "whole", *shuffled(numba_kernels.NAMES), seed="2"))
    assert second["status"]["hits"] == len(numba_kernels.NAMES) and second["status"]["compiles"] == 0
    assert second["calls"] == [] and second["status"]["stages_served"] == 0
    assert second["cubins"] == first["cubins"] and second["entries"] == first["entries"]
    assert not second["status"]["errors"] and not second["status"]["not_cached"]


def test_stages_are_compiled_once_for_all_processes(real):
    names = [name for name in numba_kernels.NAMES if name not in OWN_NAMES]
    first = finish(start(real, "stages", *names))
    compiled = built(real)
    second = finish(start(real, "stages", *shuffled(names), seed="2"))
    assert first["calls"] == second["calls"] == []
    assert not second["status"]["errors"] and not second["status"]["not_cached"]
    assert built(real) == compiled > len(names)
    assert second["cubins"] == first["cubins"] and second["entries"] == first["entries"]
