# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""This version beside an earlier version: daemons of both run at once, and this version's client asks them in turn."""

import statistics

from figures import Row, microseconds, milliseconds, ratio, run
from measurements import CLOSURE_NAMES, FOLDER, HIT_SIZES, LIBRARY_NAMES, describe

PASSES = 3


def compare(servers, before, fake_root, cuda_root, effort, wanted):
    now, then = servers.daemon("now", fake_root), servers.daemon("before", fake_root, build=before)
    if "hits" in wanted:
        yield from hits(servers, now, then, effort)
    if "processes" in wanted:
        yield from whole_process(servers, before, effort)
    if "compiles" in wanted:
        yield from compiles(servers, before, cuda_root, effort)


def hits(servers, now, then, effort):
    for size, name in HIT_SIZES:
        figures = {}
        for _ in range(effort.hit_passes):
            one = run(servers.build / "tests/bench/bench_hits", now, then, size, effort.hit_rounds, effort.hit_calls)
            for side, times in one.items():
                figures.setdefault(side, []).extend(times)
        yield row(f"hit, {name}", microseconds, figures["ours"], figures["before"])


def whole_process(servers, before, effort):
    kernel = servers.place / "kernel.cu"
    kernel.write_text("//fake: output-size 180000\n")
    commands = [
        [build / "cli/cccl-cache-cli", "--socket", servers.place / name / "socket", "build", kernel, "--arch", "sm_90", "-o",
         servers.place / "kernel.cubin"]
        for build, name in ((servers.build, "now"), (before, "before"))
    ]
    figures = run(servers.build / "tests/bench/bench_processes", effort.processes, *commands[0], "--", *commands[1])
    yield row("hit, whole process", microseconds, figures["0"], figures["1"])


def compiles(servers, before, cuda_root, effort):
    """The sides take turns by passes, because a program asks one daemon."""
    programs = servers.build / "tests/bench"
    reduce = FOLDER.parents[1] / "examples/reduce.cu"
    sockets = {
        name: servers.daemon(f"cuda {name}", cuda_root, "--pch-memory-limit", "0", build=build)
        for name, build in (("now", servers.build), ("before", before))
    }
    library, linker, options = describe(servers, sockets["now"])
    environment = {"LD_LIBRARY_PATH": library.rpartition("/")[0]}

    def hits_of(name, calls):
        headers = servers.place / f"headers {name}"
        return run(programs / "bench_closures", sockets[name], headers, CLOSURE_NAMES, calls)

    for name in sockets:
        hits_of(name, 0)  # waits until the headers are 40 s old
    closures, of_library, misses, raw = ({"now": [], "before": []} for _ in range(4))
    for _ in range(PASSES):
        for name, socket in sockets.items():
            figures = run(
                programs / "bench_misses", socket, library, servers.build / "examples/raw_nvrtc", reduce,
                max(2, effort.misses // PASSES), *options, environment=environment,
            )
            misses[name] += figures["ours"]
            raw[name] += figures["raw"]
        for name in sockets:
            figures = hits_of(name, effort.hit_calls)
            closures[name] += figures["with"]
            of_library[name] += figures["library"]
    yield row(f"hit, {CLOSURE_NAMES:,} names outside the toolchain", milliseconds, closures["now"], closures["before"])
    yield row(f"hit, {LIBRARY_NAMES} names of a library", microseconds, of_library["now"], of_library["before"])
    yield row("miss, never seen (CUB reduction)", milliseconds, misses["now"], misses["before"])
    for name in sockets:
        yield Row(
            f"miss, never seen, {name}: raw NVRTC", milliseconds(misses[name]), milliseconds(raw[name]),
            f"{ratio(misses[name], raw[name]):.2f}x",
        )
    preambles, reduces = ({"now": [], "before": []} for _ in range(2))
    of_preambles = {
        name: servers.daemon(f"preambles {name}", cuda_root, build=build) for name, build in (("now", servers.build), ("before", before))
    }
    for _ in range(PASSES):
        for name, socket in of_preambles.items():
            figures = run(
                programs / "bench_preambles", socket, library, linker, reduce, FOLDER, max(2, effort.misses // PASSES), *options,
                environment=environment,
            )
            preambles[name] += figures["ours"]
            reduces[name] += figures["ours reduce"]
    yield row("miss, seen preamble (CUB reduction)", milliseconds, preambles["now"], preambles["before"])
    yield row("miss, seen preambles (CCCL's reduce)", milliseconds, reduces["now"], reduces["before"])


def row(what, unit, now, then):
    difference = (statistics.median(now) - statistics.median(then)) / 1000
    return Row(f"{what}: the version before", unit(now), unit(then), f"{ratio(now, then):.2f}x, {difference:+.3f} ms")
