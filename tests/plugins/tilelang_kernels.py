# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel for tests of TileLang. Tests copy this file, also with changes."""

import tilelang.language as T


def scale(n):
    @T.prim_func
    def kernel(a: T.Tensor((n * 128,), "float32"), b: T.Tensor((n * 128,), "float32")):
        with T.Kernel(n, threads=128) as at:
            for i in T.Parallel(128):
                b[at * 128 + i] = a[at * 128 + i] * a[at * 128 + i] + T.float32(n)

    return kernel
