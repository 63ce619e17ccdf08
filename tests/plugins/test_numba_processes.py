# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that compile the same kernels of numba-cuda in different orders. The second compiles nothing."""

import json
import os
import pathlib
import random
import subprocess
import sys
import types

import numba_device  # noqa: F401  first: it makes numba.cuda that of numba-cuda
import numba_kernels
from patience import wait_for

PROGRAM = pathlib.Path(__file__).with_name("numba_program.py")
# Two functions of equal code with an array each keep numba's names, which contain a count of the process.
OWN_NAMES = {"shared_twins"}


def start(daemon, mode, *names, seed="1", stdin=None, behind=(), **variables):
    return subprocess.Popen([*behind, sys.executable, PROGRAM, mode, *names], stdin=stdin, stdout=subprocess.PIPE, text=True,
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
    """Returns the number of builds by one compiler of the daemon."""
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


def test_eight_concurrent_processes_compile_once(real):
    answers = finish(start(real, "eight", "diamond"))
    assert sorted(answer["status"]["compiles"] for answer in answers) == [0] * 7 + [1]
    assert len({answer["cubins"]["diamond"] for answer in answers}) == 1


def test_a_waiting_process_compiles_the_kernel_of_a_process_that_dies(real):
    dying = start(real, "stuck", "diamond", stdin=subprocess.PIPE)
    assert dying.stdout.readline() == "compiling\n"
    waiting = start(real, "whole", "diamond")
    wait_for(lambda: real.stats()["lease_waiters"] == 1, "the second process to wait for the first")
    dying.kill()
    dying.communicate()
    answer = finish(waiting)
    assert answer["status"]["compiles"] == answer["status"]["published"] == 1 and not answer["status"]["errors"]


def test_without_a_daemon_kernels_are_in_numbas_own_files(directory):
    nobody = types.SimpleNamespace(socket=directory / "nobody")
    files = {"NUMBA_CACHE_DIR": str(directory / "files")}
    first = finish(start(nobody, "whole", "diamond", "linked", **files))
    assert first["status"]["compiles"] == 2 and first["calls"].count("Linker") == 2
    second = finish(start(nobody, "whole", "diamond", "linked", **files))
    assert second["status"]["compiles"] == 1 and second["calls"].count("Linker") == 1, "numba keeps no linked files"
    assert second["cubins"] == first["cubins"]


def test_every_kernel_is_kept_if_the_environment_says_so(real):
    first, second = (finish(start(real, "every", "diamond", CCCL_CACHE_NUMBA="all")) for _ in range(2))
    assert first["status"]["published"] == 1
    assert second["status"]["hits"] == 1 and second["calls"] == []
