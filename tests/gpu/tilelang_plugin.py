# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""TileLang on a GPU with the plug-in: checks the numbers of launches after a hit, and that four processes compile once.

Usage: tilelang_plugin.py SOCKET

Starts itself without the plug-in, then once and four times at once with it, over an unused daemon at SOCKET. Each process has
an empty directory of TileLang. Needs torch, TileLang and nvcc, and the package installed with its .pth file. Prints its
findings. Exit status 1 if a number is wrong, if a later process compiles, or if the plug-in has errors.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import tilelang
import tilelang.language as T
import torch

SIZE = 1024


def add(n):
    @T.prim_func
    def kernel(a: T.Tensor((n,), "float32"), b: T.Tensor((n,), "float32"), c: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as at:
            for i in T.Parallel(128):
                c[at * 128 + i] = a[at * 128 + i] + b[at * 128 + i]

    return kernel


def multiply(n):
    @T.prim_func
    def kernel(a: T.Tensor((n, n), "float16"), b: T.Tensor((n, n), "float16"), c: T.Tensor((n, n), "float16")):
        with T.Kernel(T.ceildiv(n, 128), T.ceildiv(n, 128), threads=128) as (column, row):
            part_of_a = T.alloc_shared((128, 32), "float16")
            part_of_b = T.alloc_shared((32, 128), "float16")
            sums = T.alloc_fragment((128, 128), "float32")
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(n, 32), num_stages=3):
                T.copy(a[row * 128, step * 32], part_of_a)
                T.copy(b[step * 32, column * 128], part_of_b)
                T.gemm(part_of_a, part_of_b, sums)
            T.copy(sums, c[row * 128, column * 128])

    return kernel


def measure():
    """Runs one process: reports that it is ready, waits for a line, compiles and launches, and reports."""
    import cccl_cache.tilelang as plugin

    torch.manual_seed(0)
    x, y = (torch.randn(SIZE, device="cuda") for _ in range(2))
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.float16) for _ in range(2))
    print("ready", flush=True)
    sys.stdin.readline()
    took, right = {}, {}
    for backend in ("tvm_ffi", "cython"):
        began = time.perf_counter()
        sum, product = (tilelang.compile(made, out_idx=[-1], execution_backend=backend) for made in (add(SIZE), multiply(SIZE)))
        took[backend] = round(time.perf_counter() - began, 2)
        right[backend] = torch.equal(sum(x, y), x + y) and torch.allclose(product(a, b), a @ b, rtol=1e-2, atol=1e-1)
        torch.cuda.synchronize()
    print(json.dumps({"took": took, "right": right, "status": plugin.status()}), flush=True)


def run(socket, plugin, count):
    """Runs processes that begin at the same moment. Returns their reports."""
    with tempfile.TemporaryDirectory() as place:
        processes = [
            subprocess.Popen([sys.executable, __file__, "--measure"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "CCCL_CACHE_SOCKET": socket, "CCCL_CACHE_TILELANG": plugin,
                                  "TILELANG_CACHE_DIR": f"{place}/{number}"})
            for number in range(count)]
        for process in processes:
            while process.stdout.readline() not in ("ready\n", ""):
                pass
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        return [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]


def main(socket):
    failed = False
    for name, plugin, count in (("alone", "0", 1), ("four alone", "0", 4), ("first", "1", 1), ("four after it", "1", 4)):
        reports = run(socket, plugin, count)
        for report in reports:
            counts = {key: value for key, value in report["status"].items() if value}
            print(f"{name}: {report['took']}, right: {report['right']}; {counts}", flush=True)
            failed |= not all(report["right"].values()) or bool(report["status"]["errors"])
        if plugin == "1":
            wanted = (4, 0) if name == "first" else (0, 4)
            failed |= any((each["status"]["made"], each["status"]["hits"]) != wanted for each in reports)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure()
    else:
        sys.exit(main(*sys.argv[1:]))
