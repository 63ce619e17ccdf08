# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""First and second runs of nvcc: alone, under ccache, under sccache, and under cccl-cache-nvcc."""

import dataclasses
import os
import pathlib
import statistics
import subprocess
import time

import nvcc_files
from control_groups import ControlGroup
from figures import Row

LONGEST = 0.15  # seconds; the goal for a second run
MOST = 1.05  # the bar for a first run, in processor time: ours / nvcc alone


@dataclasses.dataclass
class Cost:
    cpu: float  # seconds of processor time, with that of the side's server
    wall: float  # seconds


class Side:
    """One way to start nvcc, with caches of its own, and a control group with all of its processes."""

    def __init__(self, name, before, group, environment):
        self.name, self.before, self.group = name, before, group
        self.environment = {**os.environ, **environment}
        self.first, self.seconds, self.serves = None, [], True

    def run(self, command, place):
        used, began = self.group.seconds(), time.monotonic()
        subprocess.run(
            self.group.command([*self.before, *command]), cwd=place, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
        )
        return Cost(self.group.seconds() - used, time.monotonic() - began)

    def second(self, figure):
        return statistics.median(getattr(cost, figure) for cost in self.seconds)


def measure(sides, file, nvcc, cuda, rounds):
    """Runs nvcc by all sides in turn, once with empty caches and then so many times with full ones. A side that runs nvcc
    again is not asked once more: a new run of nvcc has other names in its object."""
    place = file.source.parent

    def run(side):
        made = place / f"{side.name}.o"
        made.unlink(missing_ok=True)
        cost = side.run([nvcc, *file.words(cuda=cuda, object=made)], place)
        return cost, made.read_bytes()

    firsts = {}
    for side in sides:
        side.first, firsts[side.name] = run(side)
    for _ in range(rounds):
        for side in sides[1:]:
            if not side.serves:
                continue
            cost, made = run(side)
            side.seconds.append(cost)
            side.serves = made == firsts[side.name]
    if not sides[-1].serves:
        raise RuntimeError(f"{file.name}: the second object of {sides[-1].name} is not the first one")


def rows(sides, file):
    alone, *others = sides
    ours = others[-1]
    for side in others:
        bars = side is ours
        ratio = side.first.cpu / alone.first.cpu
        yield Row(
            f"first run of nvcc, {file.name}, {side.name}: alone", f"{side.first.cpu:.1f} s", f"{alone.first.cpu:.1f} s",
            f"{ratio:.2f}x, wall {side.first.wall / alone.first.wall:.2f}x", f"{MOST:.2f}x" if bars else "", "",
            ratio <= MOST if bars else None,
        )
    for side in others:
        wall = side.second("wall")
        bars = side is ours
        yield Row(
            f"second run of nvcc, {file.name}, {side.name}: alone", f"{side.second('cpu') * 1e3:.0f} ms", f"{alone.first.cpu:.1f} s",
            f"{side.second('cpu') / alone.first.cpu:.4f}x, wall {wall:.3f} s{'' if side.serves else ', compiled again'}", "", f"{LONGEST} s" if bars else "",
            wall <= LONGEST if bars else None,
        )


def nvcc(servers, cuda, effort):
    try:
        compiled = nvcc_files.files(servers.place / "nvcc")
    except nvcc_files.NotThere as why:
        raise RuntimeError(f"nvcc can't be measured: {why}") from why
    program = pathlib.Path(cuda) / "bin/nvcc"
    if not program.exists():
        raise RuntimeError(f"nvcc can't be measured: {program} is missing. Install CUDA with nvcc in /usr/local/cuda")
    for number, file in enumerate(compiled):
        caches = servers.place / f"caches{number}"
        caches.mkdir(mode=0o700)
        sccache = nvcc_files.fetch() / "x86/bin/sccache"
        of_sccache = {"SCCACHE_DIR": str(caches / "sccache"), "SCCACHE_SERVER_UDS": str(caches / "sccache.socket"), "SCCACHE_IDLE_TIMEOUT": "0"}
        with ControlGroup("alone") as alone, ControlGroup("ccache") as ccache, ControlGroup("sccache") as ofs, ControlGroup("ours") as ours:
            socket = servers.daemon(f"nvcc{number}", cuda, within=ours)
            try:
                sides = (
                    Side("alone", [], alone, {}),
                    Side("ccache", ["ccache"], ccache, {"CCACHE_DIR": str(caches / "ccache")}),
                    Side("sccache", [sccache], ofs, of_sccache),
                    Side("ours", [servers.build / "client/interpose/cccl-cache-nvcc"], ours,
                         {"CCCL_CACHE_SOCKET": socket, "XDG_RUNTIME_DIR": str(caches), "HOME": str(caches)}),
                )
                measure(sides, file, program, cuda, effort.nvcc_rounds)
            finally:
                subprocess.run([sccache, "--stop-server"], env={**os.environ, **of_sccache}, capture_output=True, check=False)
                servers.remove(f"nvcc{number}")
        yield from rows(sides, file)
