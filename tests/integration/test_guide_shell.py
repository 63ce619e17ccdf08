# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The script of docs/guide-shell.md, run unchanged."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from conftest import PATIENCE, PLACES

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guide-shell.md"
[SCRIPT] = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.S)


@pytest.fixture
def run(directory, toolkit):
    """Runs the script beside a kernel.cu. Returns its output. A daemon that it starts ends with the test."""
    (directory / "kernel.cu").write_text('extern "C" __global__ void f() {}\n')
    programs = [str(pathlib.Path(path).parent) for path in (PLACES.cli, PLACES.daemon)]
    environment = {
        "PATH": ":".join([*programs, os.environ["PATH"]]), "HOME": str(directory),
        "CCCL_CACHE_SOCKET": str(directory / "socket"), "CCCL_CACHED_SOCKET": str(directory / "socket"),
        "CCCL_CACHED_STATE_DIR": str(directory / "state"), "CCCL_CACHED_TOOLCHAIN_ROOT": toolkit.root,
        "CCCL_CACHED_TOOLCHAIN_SEARCH": "roots"}
    started = []
    ended, open_end = os.pipe()

    def run():
        with open(directory / "output", "w+") as output:
            script = subprocess.Popen(["sh", "-c", SCRIPT], cwd=directory, env=environment, stdout=output,
                                      start_new_session=True, pass_fds=[open_end])
            started.append(script)
            assert script.wait(PATIENCE) == 0
            output.seek(0)
            return output.read()

    yield run
    os.close(open_end)
    for script in started:
        try:
            os.killpg(script.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass  # the script left no process behind
    os.read(ended, 1)  # waits until the last process of the script has ended
    os.close(ended)


def test_the_script_starts_a_daemon_or_uses_the_running_one(run, directory):
    assert sum(json.loads(run()).values()) == 0
    made = {path: path.read_bytes() for path in directory.glob("kernel.sm_*.cubin")}
    assert {path.name for path in made} == {"kernel.sm_80.cubin", "kernel.sm_90.cubin"}
    log = directory / "cccl-cached.log"
    log.unlink()
    assert sum(json.loads(run()).values()) == 2
    assert not log.exists()
    assert {path: path.read_bytes() for path in made} == made
