# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The rows of the table, and the figures from which they are made."""

import dataclasses
import os
import statistics
import subprocess


@dataclasses.dataclass
class Row:
    """One line of the table: our figure beside another figure, in microseconds or in a unit of its own."""

    what: str
    ours: str
    beside: str
    value: str
    bar: str = ""
    goal: str = ""
    met: bool | None = None  # whether the bar was met


@dataclasses.dataclass
class Effort:
    """The numbers of repetitions of each measurement."""

    hit_passes: int = 10
    hit_rounds: int = 20
    hit_calls: int = 50
    rate_rounds: int = 10
    processes: int = 400
    misses: int = 15
    first_rounds: int = 3
    nvcc_rounds: int = 7
    first_programs: tuple = (120, 160, 10, 10, 40, 120)  # of each workload in first.py
    storms: int = 5
    at_once: int = 8  # processes of a framework
    swarm_keys: int = 20
    restarts: int = 5
    filled_entries: int = 100_000
    most_entries: int = 1_000_000
    load_rounds: int = 5
    load_seconds: int = 4
    connections: int = 2_000
    in_flight: int = 10_000
    rates: tuple = (250, 500, 1_000, 2_000, 3_000, 4_000, 6_000)
    users: tuple = (1, 2, 4, 8, 16, 32, 64)

    @classmethod
    def quick(cls):
        return cls(hit_passes=2, hit_rounds=10, rate_rounds=3, processes=60, misses=3, first_rounds=1, nvcc_rounds=3, first_programs=(40, 40, 10, 10, 20, 40), storms=1, at_once=2, swarm_keys=2, restarts=1, filled_entries=20_000,
                   most_entries=10_000, load_rounds=1, load_seconds=2, connections=200, in_flight=1_000, rates=(250, 1_000), users=(1, 8))


def run(program, *arguments, environment=None):
    """Runs a program. Returns the figures that it printed, by side."""
    done = subprocess.run(
        [str(program), *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True,
        env={**os.environ, **(environment or {})},
    )
    figures = {}
    for line in done.stdout.splitlines():
        side, _, figure = line.rpartition("\t")
        figures.setdefault(side, []).append(float(figure))
    return figures


def percentile(figures, share):
    ordered = sorted(figures)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def microseconds(figures):
    return f"{statistics.median(figures):.0f} us (p99 {percentile(figures, 0.99):.0f})"


def milliseconds(figures):
    return f"{statistics.median(figures) / 1000:.1f} ms"


def ratio(ours, beside):
    return statistics.median(ours) / statistics.median(beside)
