# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""numba-cuda on a GPU with the plug-in: checks the numbers and the number of compiles, and measures first launches.

Usage: numba_launches.py SOCKET FRESH_SOCKET

Starts itself without any cache, and twice with numba's own cache=True. Then starts itself twice with the plug-in and
cache=True, over a daemon at SOCKET, twice with the plug-in without cache=True, and eight times at once, over an unused
daemon at FRESH_SOCKET. Needs numba-cuda and NumPy below 2.5. Prints its findings. Exit status 1 if a number is wrong, if a
second process compiles, or if two of the eight compile the same.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

AT_ONCE = 8
sys.path.append(str(pathlib.Path(__file__).parents[1] / "plugins"))


def floats(count, kind=numpy.float32):
    return numpy.arange(1, count + 1, dtype=kind)


def changed(array, **elements):
    """Returns a copy with some elements replaced: {"at0": value}."""
    result = array.copy()
    for name, value in elements.items():
        result[int(name[2:])] = value
    return result


def cases():
    """Returns {kernel: (grid, block, arguments, expected results)}."""
    import numba_kernels

    few, many = floats(4), floats(64)
    double = floats(4, numpy.float64)
    half = numpy.array([0, 0.5], numpy.float16)
    points = numpy.array([(1, 2), (3, 4)], numba_kernels.POINT)
    moved = points.copy()
    moved[0]["x"] = 12
    return {
        "plain": (1, 4, few, numpy.full(4, 3, numpy.float32)),
        "diamond": (1, 4, few, (few / 2 + 1) * (few / 2 - 1)),
        "seven": (1, 1, few, changed(few, at0=few[0] + 7)),
        "nine": (1, 1, few, changed(few, at0=few[0] + 9)),
        "side_by_side": (1, 1, few, changed(few, at0=8, at1=11, at2=12)),
        "shared_twins": (1, 32, many, numpy.concatenate([many[31::-1] - many[:31:-1], many[32:]])),
        "shared": (1, 64, many, many[::-1]),
        "more_shared": (1, 16, floats(16), floats(16)[::-1] + numpy.arange(16)),
        "libdevice": (1, 1, double, changed(double, at0=numpy.sin(double[0]) + numpy.exp(double[1]))),
        "reshaped": (1, 1, few, changed(few, at0=few[3])),
        "argument": (1, 1, double, changed(double, at0=double[0] ** 2 + double[1] / 2)),
        "texts": (1, 1, few, changed(few, at0=0)),
        "fp16": (1, 1, half, changed(half, at0=numpy.sin(half[1]))),
        "record": (1, 1, points, moved),
        "enumerated": (1, 1, numpy.array([0, 4], numpy.int32), numpy.array([1, 4], numpy.int32)),
        "cooperative": (4, 32, numpy.zeros(128, numpy.float32), numpy.ones(128, numpy.float32)),
        "linked": (1, 1, few, changed(few, at0=few[0] * 5)),
    }


def equal(one, other):
    if one.dtype.names:
        return all(equal(one[name], other[name]) for name in one.dtype.names)
    return numpy.allclose(one, other, rtol=1e-2 if one.dtype == numpy.float16 else 1e-6)


def measure(mode, path):
    """Runs one process: launches every kernel once, checks its results, and writes a report."""
    began = time.perf_counter()
    from numba import cuda

    import cccl_cache.numba as plugin

    imported = time.perf_counter() - began
    if mode in ("whole", "stages"):
        assert plugin.install(), plugin.status()
    cuda.current_context()
    import numba_kernels

    options = {} if mode in ("off", "stages") else {"cache": True}
    report = {"import_s": imported, "launches": {}, "wrong": []}
    for name, (grid, block, given, expected) in cases().items():
        if mode == "own" and name in ("fp16", "linked", "reshaped"):
            continue  # numba's own cache refuses linked files
        dispatcher, _ = numba_kernels.make(name, **options)
        array = cuda.to_device(given)
        began = time.perf_counter()
        dispatcher[grid, block](array)
        cuda.synchronize()
        report["launches"][name] = time.perf_counter() - began
        if not equal(array.copy_to_host(), expected):
            report["wrong"].append(name)
    report["status"] = plugin.status()
    pathlib.Path(path).write_text(json.dumps(report))


def start(mode, place, number, **environment):
    path = place / f"{mode}-{number}-{environment.get('CCCL_CACHE_SOCKET', '').replace('/', '_')}"
    process = subprocess.Popen([sys.executable, __file__, "--measure", mode, str(path)], stdout=subprocess.DEVNULL,
                               env={**os.environ, "NUMBA_CACHE_DIR": str(place / "numba"), "CUDA_CACHE_DISABLE": "1",
                                    "PYTHONHASHSEED": str(number + 1), **environment})
    return process, path


def finish(started):
    process, path = started
    if process.wait() != 0:
        raise SystemExit(f"a process ended with {process.returncode}")
    return json.loads(path.read_text())


def show(name, report):
    launches, status = report["launches"], report["status"]
    first = next(iter(launches.values()))
    print(f"{name}: {len(launches)} kernels, {len(report['wrong'])} wrong, first launch {first * 1e3:.0f} ms, "
          f"all {sum(launches.values()):.2f} s, import {report['import_s']:.2f} s; {status['hits']} hits, "
          f"{status['compiles']} compiles, {status['published']} published, {status['stages_served']} stages served, "
          f"{status['stages_compiled']} compiled here", flush=True)
    for kind in ("not_cached", "errors"):
        for reason, times in status[kind].items():
            print(f"    {kind}: {reason} ({times})")
    for wrong in report["wrong"]:
        print(f"    wrong: {wrong}")
    return not report["wrong"]


def main(socket, fresh):
    good = True
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        good &= show("no cache", finish(start("off", place, 0)))
        for number, name in enumerate(("first", "second")):
            good &= show(f"numba's own cache=True, {name}", finish(start("own", place, number)))
        for mode, name in (("whole", "plug-in, cache=True"), ("stages", "plug-in, stages alone")):
            reports = [finish(start(mode, place, number, CCCL_CACHE_SOCKET=socket)) for number in range(2)]
            good &= all([show(f"{name}, {which}", each) for which, each in zip(("first", "second"), reports)])
            if reports[1]["status"]["compiles"] or reports[1]["status"]["stages_compiled"]:
                print(f"    {name}: the second process compiled")
                good = False
        together = [start("whole", place, number, CCCL_CACHE_SOCKET=fresh) for number in range(AT_ONCE)]
        reports = [finish(each) for each in together]
        good &= all([show(f"{AT_ONCE} at once, {number + 1}", each) for number, each in enumerate(reports)])
        compiles = sum(each["status"]["compiles"] for each in reports)
        kernels = len(reports[0]["launches"])
        print(f"{AT_ONCE} at once: {compiles} compiles for {kernels} kernels")
        good &= compiles == kernels
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(*sys.argv[2:])
    else:
        sys.exit(main(*sys.argv[1:]))
