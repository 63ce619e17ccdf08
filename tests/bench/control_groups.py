# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of whole trees of processes, including ended processes."""

import os
import pathlib
import time

PATIENCE = 10.0  # seconds, only spent if a process does not end


def hierarchy():
    """Returns the directory of control groups v2, else of v1, with the name of the file that has the processor time and
    the file's units per second."""
    mounts = [line.split()[1:4] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    for path, kind, options in sorted(mounts, key=lambda mount: mount[1] != "cgroup2"):
        if kind == "cgroup2":
            return pathlib.Path(path), "cpu.stat", 1e6
        if kind == "cgroup" and "cpuacct" in options.split(","):
            return pathlib.Path(path), "cpuacct.usage", 1e9
    raise RuntimeError("no control groups are mounted, by which processor time is counted")


class ControlGroup:
    """A new control group, removed at the end of the block. Its processes have ended by then, or are about to end."""

    def __init__(self, name):
        root, self.file, self.per_second = hierarchy()
        self.path = root / f"cccl-cached-bench-{os.getpid()}-{name}"
        try:
            self.path.mkdir()
        except OSError as error:
            raise RuntimeError(f"{self.path} can't be made: run this part as root, where control groups may be made") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        deadline = time.monotonic() + PATIENCE
        while (self.path / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.path.rmdir()

    def command(self, words):
        """Returns a command that runs the given command in this group from its beginning."""
        return ["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', self.path, *words]

    def seconds(self):
        """Returns the processor time of all processes that ever ran in the group."""
        return int((self.path / self.file).read_text().replace("usage_usec ", "").split()[0]) / self.per_second
