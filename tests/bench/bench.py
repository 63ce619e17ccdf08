# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every measurement and prints the table. Started by scripts/bench."""

import argparse
import os
import pathlib
import signal
import sys

import first
import frameworks
import load
import measurements
import nvcc
import two_builds
from figures import Effort
from servers import Servers


PARTS = ("hits", "python", "processes", "restarts", "load", "compiles", "run", "first", "nvcc", "frameworks")


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--cuda", required=True, help="root of the CUDA toolkit to compile with")
    parser.add_argument("--python", required=True, help="Python that has the package cccl_cache")
    parser.add_argument("--quick", action="store_true", help="a short run: is anything far off?")
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="leave the others out; repeatable"
    )
    parser.add_argument(
        "--before", type=pathlib.Path, help="build directory of an earlier version: compare with that and nothing else: hits, processes, compiles"
    )
    parser.add_argument("--plots", type=pathlib.Path, help="directory for plots of latency over load, entries and processes (of `load`)")
    return parser.parse_args()


def rows(servers, given):
    effort = Effort.quick() if given.quick else Effort()
    wanted = given.only or [part for part in PARTS if part != "frameworks"]  # which need 6 GB of wheels
    fake_root = servers.build / "tests/support/fake_cuda13"
    if given.before:
        yield from two_builds.compare(servers, given.before, fake_root, given.cuda, effort, wanted)
        return
    if "hits" in wanted:
        yield from measurements.hits(servers, fake_root, effort)
        yield from measurements.process_hits(servers, effort)
        yield from measurements.rates(servers, effort)
    if "hits" not in wanted and {"python", "processes"} & set(wanted):
        servers.daemon("fake", fake_root)
    if "python" in wanted:
        yield from measurements.python(servers, given.python, effort)
    if "processes" in wanted:
        yield from measurements.whole_process(servers, effort)
    if "restarts" in wanted:
        yield from measurements.restarts(servers, fake_root, effort)
    if "load" in wanted:
        yield from load.load(servers, fake_root, effort)
    if "compiles" in wanted:
        yield from measurements.compiles(servers, given.cuda, effort)
    if "run" in wanted:
        yield from measurements.under_run(servers, given.cuda, effort)
    if "first" in wanted:
        yield from first.first(servers, given.cuda, effort)
    if "nvcc" in wanted:
        yield from nvcc.nvcc(servers, given.cuda, effort)
    if "frameworks" in wanted:
        yield from frameworks.frameworks(servers, given.python, effort)


def table(found):
    verdicts = {None: "", True: "met", False: "MISSED"}
    lines = [("what: beside", "ours", "beside", "ours / beside", "bar", "", "goal")]
    lines += [(r.what, r.ours, r.beside, r.value, r.bar, verdicts[r.met], r.goal) for r in found]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()


def main():
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # The daemon is measured, so the cache of a process is off. One benchmark of that cache turns it on.
    os.environ["CCCL_CACHE_PROCESS_BYTES"] = "off"
    load = os.getloadavg()[0]
    found = []
    with Servers(given.build, given.plots) as servers:
        for row in rows(servers, given):
            found.append(row)
            print(f"  {row.what}: {row.ours} {row.beside} {row.value}", file=sys.stderr, flush=True)
    print(
        f"\nMedians, sides in turn in one run; what clients keep themselves off but where it is measured. {os.cpu_count()} processors, load "
        f"{load:.1f} before, {os.getloadavg()[0]:.1f} after.\n"
    )
    print("\n".join(table(found)))


main()
