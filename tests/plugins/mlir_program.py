# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program with kernels of numba-cuda-mlir. It reports its compiles. Started by tests.

Usage: mlir_program.py whole|stages NAME...
"""

import functools
import hashlib
import json
import sys

import numpy
from numba_backends import NumbaCudaMlir, compiled

NUMBA = NumbaCudaMlir()
cuda = NUMBA.cuda
FACTOR = 3


class Scale:
    def __numba_cuda_signature__(self, kind):
        return "scale", kind(kind)

    def __numba_cuda_link_key__(self, *kinds):
        return b"times 3"

    def __numba_cuda_link__(self, kind):
        return compiled('extern "C" __device__ float scale(float value) { return 3 * value; }')


scale = Scale()


@cuda.jit(device=True)
def inner(value):
    return scale(value) + FACTOR


def plain(data):
    data[0] = FACTOR * data[1]


def shared(data):
    room = cuda.shared.array(32, numpy.float32)
    room[cuda.threadIdx.x] = data[cuda.threadIdx.x]
    cuda.syncthreads()
    data[cuda.threadIdx.x] = room[31 - cuda.threadIdx.x]


def linked(data):
    data[0] = inner(data[1])


KERNELS = {kernel.__name__: kernel for kernel in (plain, shared, linked)}


def counted(calls, owner, name):
    original = getattr(owner, name)

    @functools.wraps(original)
    def count(*args, **kwargs):
        calls.append(name)
        return original(*args, **kwargs)

    setattr(owner, name, count)


def main(mode, *names):
    import cccl_cache.numba_mlir as plugin
    from numba_cuda_mlir import mlir_compiler
    from numba_cuda_mlir.descriptor import mlir_target
    from numba_cuda_mlir.numba_cuda.cudadrv import driver

    calls = []
    counted(calls, mlir_compiler, "mlir_compiler_entry")
    counted(calls, driver, "Linker")
    assert plugin.install(), plugin.status()
    jit = cuda.jit(cache=True) if mode == "whole" else cuda.jit
    made = {}
    for name in names:  # as the first launch does
        cubin, entry, cooperative = jit(KERNELS[name])._compile((numpy.zeros(32, numpy.float32),))
        made[name] = [hashlib.sha256(cubin).hexdigest(), entry, cooperative]
    json.dump({"calls": calls, "status": plugin.status(), "made": made,
               "initialized": mlir_target._typingctx_initialized}, sys.stdout)


main(*sys.argv[1:])
