# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A function of CuTe DSL for run.py."""

import os

import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

FACTOR = 3


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    at, _, _ = cute.arch.thread_idx()
    y[at] = x[at] * FACTOR


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=(1, 1, 1), block=(128, 1, 1))


def run():
    x = torch.ones(128, device="cuda")
    y = torch.zeros_like(x)
    tensors = [from_dlpack(each) for each in (x, y)]
    options = {"options": os.environ["FLAGS"]} if "FLAGS" in os.environ else {}
    cute.compile(scale, *tensors, **options)(*tensors)
    torch.cuda.synchronize()
    return y.tolist()
