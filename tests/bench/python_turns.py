# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""python_turns.py SOCKET SIZE TURNS CALLS BENCH_TURNS

Requests SIZE bytes from a daemon with the fake toolchain, in turn through the Python package and through the C++ client
in the program BENCH_TURNS. Also times the package's search for the CUDA that the process has loaded. Prints lines
"side<TAB>microseconds". To be run by a Python that has the package."""

import itertools
import subprocess
import sys
import time

import cccl_cache
from cccl_cache import _library

LOOKS = 1000


def source_for(size):
    """Returns the same source as tests/bench/side.h."""
    text = f"//fake: output-size {size}\n"
    while len(text) < 2000:
        text += "// one more line of a kernel\n"
    return text


def timed(call):
    begin = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - begin) / 1000


def main():
    socket, size, turns, calls, cpp = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
    client, source = cccl_cache.Client(socket), source_for(size)

    def build():
        return client.build(source, arch="sm_90", name="kernel.cu")

    prepared = cccl_cache.Build(source, arch="sm_90", name="kernel.cu")
    sides = {
        "Python, a view": lambda: build().view("cubin"),
        "Python, bytes": lambda: build().cubin,
        "Python, a program made ahead, a view": lambda: client.run(prepared).view("cubin"),
    }
    figures = {"C++": [], **{side: [] for side in sides}}
    with subprocess.Popen([cpp, socket, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        for turn in range(turns):
            print(calls, file=other.stdin, flush=True)
            figures["C++"] += map(float, other.stdout.readline().split())
            for side, call in sides.items():
                figures[side] += [timed(call) for _ in range(calls)]
        other.stdin.close()
    looks = timed(lambda: [_library.cuda_major() for _ in itertools.repeat(None, LOOKS)]) / LOOKS
    figures["which CUDA"] = [looks]
    for side, times in figures.items():
        for took in times:
            print(f"{side}\t{took:.2f}")


main()
