# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy on a GPU with the plug-in: checks the numbers and the number of compiles, and measures the time.

Usage: cupy_kernels.py FRESH_SOCKET

Starts itself without the plug-in, each time as a second process: without a cache, with CuPy's disk cache, and with PTX in
CuPy's and the driver's cache. Then starts itself twice with the plug-in, over the daemon at CCCL_CACHE_SOCKET, first with
an empty disk cache of CuPy each time, then without that cache. Then starts itself eight times at once, over an unused
daemon at FRESH_SOCKET. Needs CuPy. Prints its findings. Exit status 1 if a number is wrong, if a second process compiles a
program that it could have got, or if two of the eight compile the same.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

AT_ONCE = 8


def raw_kernel(cupy, numpy):
    kernel = cupy.RawKernel('extern "C" __global__ void add(float* p, float v) { p[threadIdx.x] += v; }', "add")
    data = cupy.arange(64, dtype=cupy.float32)
    kernel((1,), (64,), (data, numpy.float32(3)))
    return data, numpy.arange(64, dtype=numpy.float32) + 3


def raw_module(cupy, numpy):
    source = ("namespace { __device__ int shared_by_all = 5; }\n"
              "template <typename T> __global__ void scale(T* p, T v) { p[threadIdx.x] = p[threadIdx.x] * v + shared_by_all; }")
    module = cupy.RawModule(code=source, name_expressions=["scale<int>", "scale<double>"])
    found, expected = [], []
    for name, dtype in (("scale<int>", numpy.int32), ("scale<double>", numpy.float64)):
        data = cupy.arange(32, dtype=dtype)
        module.get_function(name)((1,), (32,), (data, dtype(7)))
        found.append(data.astype(numpy.float64))
        expected.append(numpy.arange(32) * 7.0 + 5)
    return cupy.concatenate(found), numpy.concatenate(expected)


def user_header(cupy, numpy):
    kernel = cupy.RawKernel('#include "factor.h"\nextern "C" __global__ void f(int* p) { p[threadIdx.x] = FACTOR; }', "f",
                            options=(f"-I{os.environ['CUPY_KERNELS_HEADERS']}",))
    data = cupy.zeros(8, dtype=cupy.int32)
    kernel((1,), (8,), (data,))
    return data, numpy.full(8, 42, dtype=numpy.int32)


def complex_elementwise(cupy, numpy):
    kernel = cupy.ElementwiseKernel("complex64 x, complex64 y", "complex64 z", "z = x * y + conj(x)", "mix")
    x = numpy.arange(16).astype(numpy.complex64) * (1 + 2j)
    return kernel(cupy.asarray(x), cupy.asarray(x)), x * x + x.conj()


def reduction(cupy, numpy):
    kernel = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    x = numpy.arange(1000, dtype=numpy.float64)
    return kernel(cupy.asarray(x)), numpy.sqrt((x * x).sum())


def cub_reduction(cupy, numpy):
    x = numpy.arange(4096, dtype=numpy.float32).reshape(64, 64)
    return cupy.asarray(x).var(axis=1), x.var(axis=1)


def fused(cupy, numpy):
    @cupy.fuse()
    def both(x, y):
        return cupy.sqrt(x * x + y * y) + cupy.where(x > y, x, y)

    x, y = numpy.arange(1, 65, dtype=numpy.float64), numpy.arange(65, 1, -1, dtype=numpy.float64)
    return both(cupy.asarray(x), cupy.asarray(y)), numpy.sqrt(x * x + y * y) + numpy.where(x > y, x, y)


def jitted(cupy, numpy):
    from cupyx import jit

    @jit.rawkernel()
    def doubled(data, size):
        i = jit.grid(1)
        if i < size:
            data[i] = data[i] * 2 + 1

    data = cupy.arange(100, dtype=cupy.int64)
    doubled[4, 32](data, 100)
    return data, numpy.arange(100, dtype=numpy.int64) * 2 + 1


def sorted_and_scanned(cupy, numpy):
    x = numpy.arange(500, dtype=numpy.int64) * 7919 % 500
    return cupy.cumsum(cupy.sort(cupy.asarray(x))), numpy.cumsum(numpy.sort(x))


CASES = (raw_kernel, raw_module, user_header, complex_elementwise, reduction, cub_reduction, fused, jitted, sorted_and_scanned)


def measure(turned_on):
    """Runs one process: runs every case, checks its numbers, and reports."""
    started = time.perf_counter()
    import cupy
    import numpy

    import cccl_cache.cupy as plugin

    cupy.zeros(1).sum().get()  # makes the context; no case counts the kernels of this line
    imported = time.perf_counter() - started
    if turned_on:
        assert plugin.install(), plugin.status()
    took, wrong = {}, []
    for case in CASES:
        started = time.perf_counter()
        found, expected = case(cupy, numpy)
        found = cupy.asnumpy(found)
        took[case.__name__] = time.perf_counter() - started
        if not numpy.allclose(found, expected, rtol=1e-4):
            wrong.append(case.__name__)
    json.dump({"import_s": imported, "took": took, "wrong": wrong, "status": plugin.status()}, sys.stdout)


def start(cache, turned_on, **environment):
    mode = "on" if turned_on else "off"
    return subprocess.Popen([sys.executable, __file__, "--measure", mode], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "CUPY_CACHE_DIR": str(cache), "CUPY_ACCELERATORS": "cub", **environment})


def finish(process):
    told, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"a process ended with {process.returncode}")
    return json.loads(told)


def show(name, report):
    status = report["status"]
    print(f"{name}: {len(report['took'])} cases, {len(report['wrong'])} wrong, {sum(report['took'].values()):.2f} s "
          f"(longest {max(report['took'].values()):.2f} s), first kernel {next(iter(report['took'].values())) * 1000:.0f} ms; "
          f"{status['builds']} builds, {status['hits']} hits, {status['left_to_cupy']} by CuPy", flush=True)
    for kind in ("not_cached", "errors"):
        for reason, times in status[kind].items():
            print(f"    {kind}: {reason} ({times})")
    for wrong in report["wrong"]:
        print(f"    wrong: {wrong}")
    return not report["wrong"]


def without_the_plugin(scratch):
    right = True
    driver = {"CUDA_CACHE_PATH": str(scratch / "driver")}
    for name, cache, environment in (
        ("without the plug-in, no cache", "own", {"CUDA_CACHE_DISABLE": "1"}),
        ("without it, CuPy's disk cache warm", "own", {"CUDA_CACHE_DISABLE": "1"}),
        ("without it, PTX, no cache", "ptx", {"CUPY_COMPILE_WITH_PTX": "1", **driver}),
        ("without it, PTX, the driver's cache warm", "other", {"CUPY_COMPILE_WITH_PTX": "1", **driver}),
        ("without it, PTX, both caches warm", "other", {"CUPY_COMPILE_WITH_PTX": "1", **driver}),
    ):
        right &= show(name, finish(start(scratch / cache, False, **environment)))
    return right


def eight_at_once(scratch, socket, programs):
    """Returns whether one of the processes compiled each program, and whether all numbers were right."""
    began = time.perf_counter()
    together = [start(scratch / f"crowd{number}", True, CCCL_CACHE_SOCKET=socket) for number in range(AT_ONCE)]
    reports = [finish(process) for process in together]
    took = time.perf_counter() - began
    right = all([show(f"{AT_ONCE} at once, {number + 1}", each) for number, each in enumerate(reports)])
    built = sum(each["status"]["builds"] for each in reports)
    print(f"{AT_ONCE} at once: {took:.2f} s, {built} builds in all for {programs} programs")
    return right and built == programs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fresh_socket", nargs="?")
    parser.add_argument("--measure", choices=("on", "off"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        return measure(chosen.measure == "on")
    if chosen.fresh_socket is None:
        parser.error("FRESH_SOCKET is missing")
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        scratch.chmod(0o755)
        (scratch / "factor.h").write_text("#define FACTOR 42\n")
        os.environ["CUPY_KERNELS_HEADERS"] = directory
        right = without_the_plugin(scratch)
        os.environ["CUDA_CACHE_DISABLE"] = "1"
        first = finish(start(scratch / "first", True))
        right &= show("first process", first)
        second = finish(start(scratch / "second", True))
        right &= show("second process, CuPy's disk cache empty", second)
        for name in ("first", "second"):
            off = finish(start(scratch, True, CUPY_CACHE_IN_MEMORY="1"))
            right &= show(f"{name} process, CuPy's disk cache off", off)
        right &= eight_at_once(scratch, chosen.fresh_socket, first["status"]["builds"])
    again = second["status"]["builds"] + off["status"]["builds"]
    return 0 if right and again == 0 and not first["status"]["left_to_cupy"] else 1


if __name__ == "__main__":
    sys.exit(main())
