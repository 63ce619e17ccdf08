# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel of TileLang for run.py."""

import os
import pathlib

import tilelang
import tilelang.language as T
import torch

FACTOR = 3
HEADER = """
#include "more.h"
#ifndef EXTRA
#define EXTRA 0
#endif
static __device__ float more() { return MORE + EXTRA; }
"""


def scale():
    @T.prim_func
    def kernel(x: T.Tensor((128,), "float32"), y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            T.import_source(HEADER)
            for i in T.Parallel(128):
                y[i] = x[i] * T.float32(FACTOR) + T.call_extern("float32", "more")

    return kernel


def run():
    flags = [f"-I{pathlib.Path(__file__).parent / 'headers'}", *os.environ.get("FLAGS", "").split()]
    compiled = tilelang.compile(scale(), out_idx=[-1], execution_backend="tvm_ffi", compile_flags=flags)
    return compiled(torch.ones(128, device="cuda")).tolist()
