# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""TileLang: a kernel that adds two arrays, by nvcc"""

import tilelang
import tilelang.language as T
import torch

PACKAGES = ("tilelang",)
REACHES = "nvcc, in a directory of random name"


def adder(backend, size):
    @tilelang.jit(out_idx=[-1], execution_backend=backend)
    def made(n, block):
        @T.prim_func
        def main(a: T.Tensor((n,), "float32"), b: T.Tensor((n,), "float32"), c: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=block) as bx:
                for i in T.Parallel(block):
                    c[bx * block + i] = a[bx * block + i] + b[bx * block + i]

        return main

    return made(size, 128)


def on_gpu(number=1, backend="tvm_ffi"):
    a = torch.arange(1024 * number, device="cuda", dtype=torch.float32)
    result = adder(backend, 1024 * number)(a, a / 2)
    assert torch.equal(result, a + a / 2)
    return [result]


if __name__ == "__main__":
    print(on_gpu())
