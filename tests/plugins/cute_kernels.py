# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel for tests of CuTe DSL. Tests copy this file, also with changes."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, n: cutlass.Constexpr):
    at, _, _ = cute.arch.thread_idx()
    x = a[at]
    for k in cutlass.range_constexpr(n):
        x = x * x + a[at + k]
    b[at] = x


@cute.jit
def scale(a: cute.Tensor, b: cute.Tensor, n: cutlass.Constexpr):
    kernel(a, b, n).launch(grid=(4, 1, 1), block=(128, 1, 1))
