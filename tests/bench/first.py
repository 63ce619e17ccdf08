# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""First and second runs of unchanged programs. Compares the processor time of clients, daemon and workers with that
of raw NVRTC."""

import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from control_groups import ControlGroup
from figures import Row
from measurements import describe

FOLDER = pathlib.Path(__file__).resolve().parent
HEADERS = FOLDER.parents[1] / ".toolchains/cupy/cupy/_core/include"
SECOND = 0.06  # the bar of each second run
WORKING = ("in_flight", "queued", "waiting", "idle_jobs")  # names of gauges
PATIENCE = 300.0  # seconds, only spent if a daemon never comes to rest


@dataclasses.dataclass
class Workload:
    name: str  # as in first_programs.py
    programs: int
    bar: float  # of the first run, in processor time: ours / raw

    @property
    def title(self):
        return f"{self.name}, {self.programs} programs"


def workloads(effort):
    cupy, mix, cub, few, many, small = effort.first_programs
    return (Workload("element-wise", cupy, 0.85), Workload("mix", mix, 0.90), Workload("CUB", cub, 0.75),
            Workload("LTO-IR", few, 0.75), Workload("LTO-IR", many, 0.50), Workload("tiny", small, 1.05))


@dataclasses.dataclass
class Side:
    """The costs of one side, per program, in seconds."""

    cpu: float
    wall: float
    digests: tuple  # of each client's results, in the order of the clients
    precompiled: float = 0  # share of compiles


def statistics_of(servers, socket):
    done = subprocess.run([servers.build / "cli/cccl-cache-cli", "--socket", socket, "--json", "stats"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def settle(servers, socket, group):
    """Waits until the daemon is idle: nothing is queued, compiled or checked, and a second passes without processor
    time, which the parsing of a header would take."""
    deadline = time.monotonic() + PATIENCE
    while True:
        before = group.seconds()
        time.sleep(1)
        gauges = statistics_of(servers, socket)
        if group.seconds() - before < 0.05 and not any(gauges[name] for name in WORKING):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the daemon still works {PATIENCE:.0f} s after its last client")


class Runs:
    """The sides of one workload, with so many clients at once."""

    def __init__(self, servers, workload, clients, seed, toolchain):
        self.servers, self.workload, self.clients, self.seed = servers, workload, clients, seed
        self.library, self.options = toolchain

    def clients_side(self, group, before=(), programs=None):
        programs = self.workload.programs if programs is None else programs
        bounds = [programs * client // self.clients for client in range(self.clients + 1)]
        used, began = group.seconds(), time.monotonic()
        running = [
            subprocess.Popen(
                group.command([*before, sys.executable, FOLDER / "first_programs.py", self.library, HEADERS, self.workload.name,
                               self.seed, str(begin), str(end), *self.options]),
                stdout=subprocess.PIPE, text=True, env={**os.environ, "CUDA_CACHE_DISABLE": "1"},
            )
            for begin, end in zip(bounds, bounds[1:])
        ]
        digests = tuple(client.communicate()[0].strip() for client in running)
        if any(client.returncode != 0 for client in running):
            raise RuntimeError(f"a program of {self.workload.title} does not compile")
        return Side(group.seconds() - used, time.monotonic() - began, digests)

    def per_program(self, side, start):
        """Returns the costs per program, without those of the clients' start."""
        side.cpu, side.wall = (side.cpu - start.cpu) / self.workload.programs, (side.wall - start.wall) / self.workload.programs
        return side

    def raw(self):
        with ControlGroup("raw") as group:
            self.start = self.clients_side(group, programs=0)
            return self.per_program(self.clients_side(group), self.start)

    def ours(self, socket, group):
        settle(self.servers, socket, group)
        before, used = statistics_of(self.servers, socket), group.seconds()
        side = self.clients_side(group, [self.servers.build / "cli/cccl-cache-cli", "run", "--socket", socket, "--"])
        settle(self.servers, socket, group)
        after = statistics_of(self.servers, socket)
        side.cpu = group.seconds() - used
        if after["builds_total"] - before["builds_total"] < self.workload.programs:
            raise RuntimeError(f"the clients of {self.workload.title} did not ask the daemon")
        compiles = after["compiles_total"] - before["compiles_total"]
        side.precompiled = (after["pch_builds_total"] - before["pch_builds_total"]) / max(compiles, 1)
        return self.per_program(side, self.start)


def measure(servers, cuda_root, workload, clients, rounds, toolchain):
    """Measures the sides by name, in turn. Each round has its own programs and its own daemon."""
    sides = {"raw": [], "first": [], "second": []}
    for turn in range(rounds):
        runs = Runs(servers, workload, clients, f"{os.getpid()}_{turn}", toolchain)
        sides["raw"].append(runs.raw())
        with ControlGroup("ours") as group:
            socket = servers.daemon("first", cuda_root, within=group)
            try:
                describe(servers, socket)  # loads its toolchain
                for side in ("first", "second"):
                    sides[side].append(runs.ours(socket, group))
            finally:
                servers.remove("first")
        raw, first, second = (sides[side][-1].digests for side in ("raw", "first", "second"))
        # LTO-IR is not compared, because it holds the name of its program.
        if first != second or (workload.name != "LTO-IR" and raw != first):
            raise RuntimeError(f"{workload.title}: outputs differ: {raw} {first} {second}")
    return sides


def first(servers, cuda_root, effort):
    if not HEADERS.is_dir():
        raise RuntimeError(f"{HEADERS} is missing: scripts/setup --for bench installs it")
    library, _, options = describe(servers, servers.daemon("first", cuda_root))
    servers.remove("first")
    # The option is left out, because the daemon does not cache a program that has it. NVRTC caches nothing either: each
    # program is new, and the driver's cache is off.
    options = [option for option in options if option != "--no-cache"]
    states = (("busy", os.cpu_count()), ("one client", 1))
    for workload in workloads(effort):
        for state, clients in states:
            sides = measure(servers, cuda_root, workload, clients, effort.first_rounds, (library, options))

            def median(side, figure):
                return statistics.median(getattr(each, figure) for each in sides[side])

            for side, bar in (("first", workload.bar), ("second", SECOND)):
                value = median(side, "cpu") / median("raw", "cpu")
                shown = f"{value:.3f}x" if side == "second" else f"{value:.2f}x"
                yield Row(
                    f"{side} run, {workload.title}, {state}: raw NVRTC", f"{median(side, 'cpu') * 1e3:.1f} ms", f"{median('raw', 'cpu') * 1e3:.1f} ms",
                    f"{shown}, wall {median(side, 'wall') / median('raw', 'wall'):.2f}x, {median(side, 'precompiled'):.0%} precompiled",
                    f"{bar:.2f}x", "", value <= bar,
                )
