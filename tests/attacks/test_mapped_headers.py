# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A header is written through a shared mapping, which changes its times only once. The next build reads the new
contents."""

import json
import mmap
import os
import subprocess
import time

import pytest
from bystander import BYSTANDER
from patience import wait_for

SOURCE = '#include "mapped.h"\nextern "C" __global__ void k() {}\n'
TENTH = 100_000_000


@pytest.fixture
def mounted(directory):
    """Mounts a file system until the test ends."""
    places = []

    def mount(name, *arguments):
        place = directory / name
        place.mkdir()
        subprocess.run(["mount", *arguments, place], check=True)
        places.insert(0, place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "--lazy", place], check=True)


def on_disk(directory, mounted):
    return directory


def in_memory(directory, mounted):
    return mounted("memory", "-t", "tmpfs", "none")


def on_overlay(directory, mounted, above=lambda directory, mounted: directory):
    layers = above(directory, mounted)
    lower, upper, work = (layers / name for name in ("lower", "upper", "work"))
    for layer in (lower, upper, work):
        layer.mkdir()
    return mounted("overlay", "-t", "overlay", "none", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}")


def on_overlay_in_memory(directory, mounted):
    return on_overlay(directory, mounted, above=in_memory)


@pytest.mark.parametrize("place", [on_disk, in_memory, on_overlay, on_overlay_in_memory])
def test_no_build_uses_the_earlier_contents_of_a_header(shared, directory, mounted, place):
    headers = place(directory, mounted) / "headers"
    headers.mkdir()
    os.chmod(headers.parent, 0o755)
    header = headers / "mapped.h"
    text = b"#define V %04d\n"
    header.write_bytes(text % 0)
    os.chown(headers, BYSTANDER, BYSTANDER)
    os.chown(header, BYSTANDER, BYSTANDER)
    answers = []
    with open(header, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        for value in range(1, 5):
            mapping[:] = text % value
            # Waits until the time is older than the tick of any clock, so that only write-back is left to wait for.
            wait_for(lambda: time.time_ns() - os.stat(header).st_ctime_ns > TENTH, "an older stamp")
            for expected in ("built", "hit"):
                told = json.loads(shared.cli(
                    "--json", "build", "-", "--arch", "sm_90", "-o", os.devnull, "-I", str(headers), input=SOURCE,
                    user=BYSTANDER).stdout)
                assert told["outcome"] == expected, (value, told)
            answers.append(told["artifacts"][0]["sha256"])
        assert len(set(answers)) == len(answers)
