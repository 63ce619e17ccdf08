# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Triton: three variants of a kernel"""

import triton
import triton.language as tl

PACKAGES = ("triton", "torch")
REACHES = "ptxas"


@triton.jit
def scale(x, y, n, factor, SUMMAND: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(y + at, tl.load(x + at, mask=at < n) * factor + SUMMAND, mask=at < n)


def on_gpu(number=1):
    import torch

    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    results = []
    for each in range(3):
        y = torch.empty_like(x)
        scale[(8,)](x, y, len(x), 2.0, SUMMAND=10 * number + each)
        assert torch.equal(y, x * 2 + 10 * number + each)
        results.append(y)
    return results


def without_gpu(number=1):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "factor": "fp32", "SUMMAND": "constexpr"}
    return [triton.compile(ASTSource(fn=scale, signature=signature, constexprs={(4,): 10 * number + each}),
                           target=GPUTarget("cuda", 90, 32)).asm["cubin"] for each in range(3)]


if __name__ == "__main__":
    print(on_gpu())
