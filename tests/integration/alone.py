# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Builds without a daemon, and the processes that they start."""

import json
import os
import pathlib

from running_daemon import run_cli


class Alone:
    """Builds without a daemon where `root` is the only CUDA. The facts about the CUDA are in a cache of its own."""

    def __init__(self, directory, root):
        self.directory = directory
        self.cache = directory / "cache"
        self.environment = {
            "CCCL_CACHED_TOOLCHAIN_ROOT": str(root), "CCCL_CACHED_TOOLCHAIN_SEARCH": "roots",
            "XDG_CACHE_HOME": str(self.cache),
        }

    def cli(self, *arguments, socket=None, **keywords):
        return run_cli("--socket", socket or str(self.directory / "nobody"), *arguments, "--fallback", "local",
                       environment=self.environment, cwd=keywords.pop("cwd", self.directory), **keywords)

    def build(self, source, *arguments, arch="sm_90", **keywords):
        done = self.cli("--json", "build", "-", "--arch", arch, "-o", os.devnull, *arguments, input=source, **keywords)
        return json.loads(done.stdout)

    def facts(self):
        return {path: path.stat().st_mtime_ns for path in (self.cache / "cccl-cache/toolchains").glob("toolchain-*")}


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *children_of(child)]
    return found


def state_of(pid):
    """Returns the kernel's letter for the state of a process, or X if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def sleeps(pid):
    """Returns whether the process sleeps until it gets a request."""
    return state_of(pid) == "S"


def gone(pids):
    return all(state_of(pid) in "ZX" for pid in pids)
