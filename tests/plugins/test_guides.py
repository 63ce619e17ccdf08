# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/guide-cuda-core.md and docs/guide-cuda-compute.md run unchanged."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def run_example(guide, number, socket):
    text = (DOCS / guide).read_text()
    example = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[number]
    told = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "CCCL_CACHE_SOCKET": str(socket)})
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_a_program_is_compiled_by_the_daemon(lasting):
    told = [run_example("guide-cuda-core.md", 0, lasting.socket) for _ in range(2)]
    assert told[0] == told[1]
    assert told[0].split()[0] == "cubin" and told[0].split()[2].startswith("_Z5scaleIf")


@pytest.mark.parametrize("there", [True, False])
def test_the_cache_serves_a_program_with_and_without_a_daemon(lasting, directory, there):
    assert int(run_example("guide-cuda-core.md", 1, lasting.socket if there else directory / "nobody")) > 0


def test_the_second_process_gets_the_result_of_the_first(fake):
    first, second = (run_example("guide-cuda-compute.md", 0, fake.socket) for _ in range(2))
    assert "'builds': 1" in first and "'hits'" not in first
    assert "'hits': 1" in second and "'builds'" not in second
