# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Warp on a GPU with the plug-in: checks the numbers of kernels that were compiled, found and compiled alone.

Usage: warp_plugin.py [--processes N]

Launches kernels (scalars, matrices, tiles, a user's header, a backward pass) in processes with empty kernel caches, over the
unused daemon at CCCL_CACHE_SOCKET: one without the plug-in, one with it, a second one, then N at once with another constant,
without the plug-in and with it. Prints the slowest time of each case. Exit status 1 if a number is wrong, if the plug-in is
off or reports an error, if a second process compiles, or if two processes compile the same module. Needs warp-lang, NumPy,
and the package installed with its .pth file.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SIZE = 256
CASES = {  # name: (number of processes or None for N, plug-in, constant of the kernels)
    "alone": (1, False, 3),
    "first": (1, True, 3),
    "again": (1, True, 3),
    "many_alone": (None, False, 5),
    "many": (None, True, 5),
}
KERNELS = '''
import warp as wp

FACTOR = wp.constant({factor}.0)


@wp.func_native("return x + HEADER;", adj_snippet="adj_x += adj_ret;")
def shifted(x: float) -> float:
    ...


@wp.kernel
def scale(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = shifted(wp.sqrt(a[i]) * FACTOR)


@wp.kernel(module="unique")
def turn(m: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] = m[i] * v[i] * FACTOR


@wp.kernel(module="unique")
def scale_tiles(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i = wp.tid()
    wp.tile_store(b, wp.tile_load(a, shape=(1, 64), offset=(i, 0)) * FACTOR, offset=(i, 0))
'''


def measure(factor, place):
    """Runs one process: reports that it is ready, waits for a line, launches, and reports its time."""
    import importlib.util

    import numpy
    import warp as wp

    wp.config.log_level = wp.LOG_WARNING
    wp.init()
    file, header = place / f"kernels_of_{factor}.py", place / "header"
    spec = importlib.util.spec_from_file_location(f"kernels_of_{factor}", file)
    kernels = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    wp.set_module_options({"extra_build_options": wp.ModuleBuildOptions(
        extra_cuda_include_dirs=[str(header)], extra_cuda_preamble='#include "shift.h"')}, kernels)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    with wp.ScopedDevice("cuda:0"):
        numbers = numpy.arange(1, SIZE + 1, dtype=numpy.float32)
        a = wp.array(numbers, dtype=float, requires_grad=True)
        b = wp.zeros(SIZE, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernels.scale, dim=SIZE, inputs=[a], outputs=[b])
        tape.backward(grads={b: wp.ones(SIZE, dtype=float)})
        right = numpy.allclose(b.numpy(), numpy.sqrt(numbers) * factor + 2, rtol=1e-5)
        right &= numpy.allclose(tape.gradients[a].numpy(), factor / 2 / numpy.sqrt(numbers), rtol=1e-5)
        turns = numpy.tile(numpy.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]], dtype=numpy.float32), (SIZE, 1, 1))
        vectors = numpy.random.default_rng(0).random((SIZE, 3), dtype=numpy.float32)
        v = wp.array(vectors, dtype=wp.vec3)
        wp.launch(kernels.turn, dim=SIZE, inputs=[wp.array(turns, dtype=wp.mat33), v])
        right &= numpy.allclose(v.numpy(), numpy.einsum("nij,nj->ni", turns, vectors) * factor, rtol=1e-5)
        rows = numpy.random.default_rng(1).random((SIZE, 64), dtype=numpy.float32)
        found = wp.zeros((SIZE, 64), dtype=float)
        wp.launch_tiled(kernels.scale_tiles, dim=[SIZE], inputs=[wp.array(rows, dtype=float)], outputs=[found], block_dim=64)
        right &= numpy.allclose(found.numpy(), rows * factor, rtol=1e-5)
    took = time.perf_counter() - began
    from cccl_cache import warp as plugin

    print(json.dumps({"took": took, "right": bool(right), **plugin.status()}), flush=True)


def run(place, name, processes, plugin, factor):
    """Runs one case. Returns the answers of its processes."""
    (place / f"kernels_of_{factor}.py").write_text(KERNELS.format(factor=factor))
    started = []
    for number in range(processes):
        environment = {**os.environ, "WARP_CACHE_PATH": str(place / f"{name}{number}"),
                       "CCCL_CACHE_WARP": "1" if plugin else "0"}
        started.append(subprocess.Popen([sys.executable, __file__, "--measure", str(factor), "--place", str(place)],
                                        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for process in started:
        assert process.stdout.readline() == "ready\n", "a process ended before it compiled"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for process in started]
    for process in started:
        process.stdin.close()
        process.wait()
    return answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--measure", type=int)
    parser.add_argument("--place", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        return measure(arguments.measure, arguments.place)
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        (place / "header").mkdir()
        (place / "header/shift.h").write_text("#define HEADER 2.0f\n")
        for name, (processes, plugin, factor) in CASES.items():
            answers = run(place, name, processes or arguments.processes, plugin, factor)
            made = sum(answer["made"] for answer in answers)
            print(f"{name:11} {len(answers)} processes: {max(answer['took'] for answer in answers):6.2f} s, {made} made, "
                  f"{sum(answer['hits'] for answer in answers)} hits", flush=True)
            wrong = any(not answer["right"] or answer["on"] != plugin or answer["errors"] for answer in answers)
            modules = 3 if plugin and name != "again" else 0
            if wrong or made != modules:
                failed = True
                print(f"{name}: FAILED: {answers}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
