# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""numba_program.py MODE NAME... compiles kernels and prints the plug-in's counts and the called compilers.

MODE: `whole`: kernels with cache=True. `stages`: kernels without it. `every`: the same, and the environment turns the plug-in
on. `stuck`: cache=True, in a process that prints "compiling" while it holds the lease and then stops. `eight`: cache=True, in
eight concurrent processes, with a list of their answers.
"""

import concurrent.futures
import hashlib
import json
import multiprocessing
import sys

import numba_device

numba_device.pretend()
calls = numba_device.counted()

import cccl_cache.numba  # noqa: E402

mode, names = sys.argv[1], sys.argv[2:]
if mode != "every":
    assert cccl_cache.numba.install(), cccl_cache.numba.status()

import numba_kernels  # noqa: E402


def stop(kernel):
    print("compiling", flush=True)
    sys.stdin.read()


def run():
    """Compiles the kernels. Returns their code and the counts."""
    answer = {"calls": calls, "cubins": {}, "entries": {}}
    for name in names:
        dispatcher, signature = numba_kernels.make(name, **({} if mode in ("stages", "every") else {"cache": True}))
        kernel = dispatcher.compile(signature)
        answer["cubins"][name] = hashlib.sha256(numba_device.cubin(kernel)).hexdigest()
        answer["entries"][name] = kernel._codelibrary._entry_name
    return {**answer, "status": cccl_cache.numba.status()}


def together(number):
    barrier.wait()
    return run()


if mode == "stuck":
    numba_device.dispatcher._Kernel.bind = stop
if mode == "eight":
    barrier = multiprocessing.get_context("fork").Barrier(8)
    with concurrent.futures.ProcessPoolExecutor(8, multiprocessing.get_context("fork")) as pool:
        print(json.dumps(list(pool.map(together, range(8)))))
else:
    print(json.dumps(run()))
