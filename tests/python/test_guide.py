# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/guide-python.md run unchanged."""

import os
import pathlib
import re
import subprocess
import sys

from patience import PATIENCE
from places import PLACES

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide-python.md"


def run_example(number, socket, cwd=None, **environment):
    example = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)[number]
    return subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=PATIENCE, cwd=cwd,
                          env={"PATH": os.environ["PATH"], "CCCL_CACHE_SOCKET": str(socket), **environment})


def test_the_complete_program_builds_and_hits(lasting):
    told = [run_example(0, lasting.socket) for _ in range(2)]
    assert [each.returncode for each in told] == [0, 0], told[0].stderr
    assert [each.stdout.split()[0] for each in told] == ["built", "hit"]
    assert told[0].stdout.split()[1:] == told[1].stdout.split()[1:]
    assert told[0].stdout.split()[2].startswith("_Z5scaleIf")


def test_the_complete_program_builds_without_a_daemon(lasting, directory):
    here = run_example(0, directory / "nobody", XDG_CACHE_HOME=str(directory), CCCL_CACHED_TOOLCHAIN_SEARCH="roots",
                       CCCL_CACHED_TOOLCHAIN_ROOT=str(PLACES.cuda13))
    assert here.returncode == 0, here.stderr
    assert here.stdout.split()[0] == "local"
    assert here.stdout.split()[1:] == run_example(0, lasting.socket).stdout.split()[1:]


def test_the_example_for_asyncio_builds_its_programs(lasting):
    told = run_example(1, lasting.socket)
    assert told.returncode == 0, told.stderr
    assert [line.split()[0] for line in told.stdout.splitlines()] == ["built"] * 4


def test_the_example_of_a_snapshot_writes_and_inserts_it(real, directory):
    told = run_example(2, real.socket, directory)
    assert told.returncode == 0, told.stderr
    assert told.stdout == "1 written, 1 there, for everybody\n"
