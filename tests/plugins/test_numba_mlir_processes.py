# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that compile the same kernels of numba-cuda-mlir. The second compiles nothing."""

import json
import os
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).with_name("mlir_program.py")
NAMES = ["plain", "shared", "linked"]


def start(daemon, mode, *names, seed="1", **variables):
    environment = {**os.environ, "CCCL_CACHE_SOCKET": str(getattr(daemon, "socket", daemon)), "PYTHONHASHSEED": seed,
                   **variables}
    return subprocess.Popen([sys.executable, PROGRAM, mode, *names], stdout=subprocess.PIPE, text=True, env=environment)


def finish(process):
    answer, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    return json.loads(answer)


def run(*args, **keywords):
    return finish(start(*args, **keywords))


def test_whole_kernels_are_compiled_once_for_all_processes(real):
    first = run(real, "whole", *NAMES)
    assert first["status"]["compiles"] == len(NAMES) and first["status"]["published"] == len(NAMES) + 1
    second = run(real, "whole", *reversed(NAMES), seed="2")
    assert second["status"]["hits"] == len(NAMES) and second["status"]["compiles"] == 0
    assert second["calls"] == [] and second["status"]["links_generated"] == second["status"]["links_hit"] == 0
    assert second["made"] == first["made"]
    assert not any(answer["status"][kind] for answer in (first, second) for kind in ("errors", "not_cached"))
    assert first["initialized"] and not second["initialized"]


def test_two_concurrent_processes_compile_once(fake):
    answers = [finish(process) for process in [start(fake, "whole", "plain") for _ in range(2)]]
    assert sorted(answer["status"]["compiles"] for answer in answers) == [0, 1]
    assert answers[0]["made"] == answers[1]["made"]


def test_links_are_made_once_for_all_processes(real):
    first = run(real, "stages", "plain", "linked")
    second = run(real, "stages", "linked", "plain", seed="2")
    for answer in (first, second):
        assert answer["calls"] == ["mlir_compiler_entry"] * 2
        assert answer["status"]["stages_served"] == 2 and answer["status"]["stages_compiled"] == 0
    assert real.stats()["compiles_total"] == 2
    assert second["made"] == first["made"]


def test_without_a_daemon_the_process_compiles_its_kernels(directory):
    answer = run(directory / "nobody", "whole", "plain", NUMBA_CACHE_DIR=str(directory / "files"))
    assert answer["status"]["compiles"] == 1 and answer["status"]["errors"]
