# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""One process of the node generates the code of an object with __numba_cuda_link_key__."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from numba_backends import BACKENDS

PROGRAM = pathlib.Path(__file__).with_name("linked_program.py")


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def start(daemon, backend, factor=3, *how, program=PROGRAM):
    socket = getattr(daemon, "socket", daemon)
    environment = {**os.environ, "CCCL_CACHE_SOCKET": str(socket),
                   "PYTHONPATH": f"{PROGRAM.parent}:{os.environ['PYTHONPATH']}"}
    return subprocess.Popen([sys.executable, program, backend, str(factor), *how], stdout=subprocess.PIPE, text=True,
                            env=environment)


def finish(process):
    answer, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    return json.loads(answer)


def run(*args, **keywords):
    return finish(start(*args, **keywords))


def counts(answer):
    return {name: answer[name] for name in ("links_generated", "links_hit", "published")}


GENERATED = {"links_generated": 1, "links_hit": 0, "published": 1}
HIT = {"links_generated": 0, "links_hit": 1, "published": 0}
NOTHING = {"links_generated": 0, "links_hit": 0, "published": 0}


def test_the_second_process_generates_nothing_and_gets_the_same_kernel(real, backend):
    first, second, whole = run(real, backend), run(real, backend), run(real, backend, 3, "whole")
    assert counts(first) == GENERATED and counts(second) == HIT
    assert whole["links_generated"] == 0 and (whole["compiles"], whole["published"]) == (1, 1)
    again = run(real, backend, 3, "whole")
    assert counts(again) == NOTHING and again["hits"] == 1 and again["stages_served"] == 0
    assert first["cubin"] == second["cubin"]
    assert whole["cubin"] == again["cubin"]
    for answer in (first, second, whole, again):
        assert not answer["errors"] and not answer["not_cached"]


def test_concurrent_processes_generate_once(real):
    started = [start(real, "numba-cuda") for _ in range(2)]
    answers = [finish(process) for process in started]
    assert sorted(answer["links_generated"] for answer in answers) == [0, 1]
    assert len({answer["cubin"] for answer in answers}) == 1


def test_another_key_and_an_edited_class_generate_again(real, tmp_path):
    edited = pathlib.Path(shutil.copy(PROGRAM, tmp_path / "edited.py"))
    assert counts(run(real, "numba-cuda", 3, program=edited)) == GENERATED
    assert counts(run(real, "numba-cuda", 4, program=edited)) == GENERATED
    edited.write_text(edited.read_text().replace("return {self.factor} * value", "return {self.factor} + value"))
    assert counts(run(real, "numba-cuda", program=edited)) == GENERATED


def test_code_with_callbacks_stays_in_its_process(real):
    answer = run(real, "numba-cuda", 3, "callback")
    assert counts(answer) == {"links_generated": 1, "links_hit": 0, "published": 0}
    assert any("callbacks" in reason for reason in answer["not_cached"])


def test_without_a_daemon_each_process_generates(directory, backend):
    answer = run(directory / "nobody", backend)
    assert counts(answer) == {"links_generated": 1, "links_hit": 0, "published": 0}
    assert answer["errors"]


def test_code_that_nvmath_generates_is_generated_once(real):
    first, second = (run(real, "numba-cuda", 0, "nvmath") for _ in range(2))
    assert counts(first) == GENERATED and counts(second) == HIT
    assert first["cubin"] == second["cubin"]
    assert not second["errors"] and not second["not_cached"]
