# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md: its commands print the shown output, and its messages are in the sources."""

import os
import pathlib
import re
import subprocess

import pytest
from patience import PATIENCE
from places import PLACES

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text()
PROGRAM = pathlib.Path(__file__).with_name("run_program.c")


def without_figures(text):
    """Returns a text without times and sizes, which differ between runs."""
    return re.sub(r"(\d[\d,.]*) (?:ms|s|bytes|KiB)\b", "#", text)


def expected(text):
    """Returns a pattern for expected output. `...` matches any text within a line."""
    return ".*".join(re.escape(part) for part in without_figures(text).split("..."))


@pytest.fixture
def shell(make_daemon, directory):
    """Runs a command of the page in the directory of its files, beside a daemon over CUDA 13. Returns its output."""
    daemon = make_daemon("--pch-memory-limit", "0", roots=(PLACES.cuda13,)).start()
    daemon.cli("toolchains")  # waits until the daemon has read its toolchains
    (directory / "kernel.cu").write_text('#include "scale.h"\n__global__ void kernel(float* at) { *at = scale(*at); }\n')
    (directory / "scale.h").write_text("__device__ float scale(float x) { return 2 * x; }\n")
    (directory / "now.cu").write_text("__global__ void kernel(int* at) { *at = __TIME__[0]; }\n")
    (directory / "now-and-then.cu").write_text("__global__ void kernel(int* at) { *at = 1; }\n")
    subprocess.run(["cc", "-w", "-D_GNU_SOURCE", "-o", directory / "program", PROGRAM, "-pthread", "-ldl"], check=True)
    os.symlink(next(pathlib.Path(PLACES.cuda12).rglob("libnvrtc.so.12")).parent, directory / "venv")
    environment = {"PATH": f"{pathlib.Path(PLACES.cli).parent}:{os.environ['PATH']}", "HOME": str(directory),
                   "CCCL_CACHE_SOCKET": daemon.socket}

    def run(command):
        done = subprocess.run(["sh", "-c", command], cwd=directory, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=PATIENCE)
        return done.stdout.replace(daemon.socket, "/run/cccl-cached/socket")

    return run


def test_each_command_prints_the_output_on_the_page(shell):
    commands = [each.split("\n", 1) for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.M | re.S)
                for each in re.split(r"^\$ ", block, flags=re.M)[1:]]
    assert len(commands) > 12
    for command, output in commands:
        if command.startswith("cccl-cache-cli evict"):
            shell("cccl-cache-cli build now-and-then.cu --arch sm_90")
        printed = without_figures(shell(command))
        # The program under `run` prints its PTX first.
        printed = re.sub(r"\A.*(?=cccl-cache: )", "", printed, flags=re.S)
        assert re.fullmatch(expected(output), printed), f"$ {command}\n{printed}\nis not\n{output}"


def test_each_message_is_one_of_the_sources():
    files = [file for folder in ("base", "client", "cli", "daemon", "proto") for file in (ROOT / folder).rglob("*.*")
             if file.suffix in (".cc", ".h")]
    # The compiler joins adjacent literals.
    texts = re.sub(r'"\s*\n\s*"', "", "".join(file.read_text() for file in files)).replace('\\"', '"')
    messages = re.findall(r"^\| `(.+?)` \|", PAGE, re.M)
    assert len(messages) > 12
    for message in messages:
        # Splits a message at its placeholders and between literals.
        for piece in re.split(r'"3GB"|--\S+|sm_50|\?', message):
            assert piece.strip() in texts, f"{piece!r} of {message!r}"
