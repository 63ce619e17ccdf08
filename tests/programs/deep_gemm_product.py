# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM: a product of BF16 matrices, by nvcc"""

import deep_gemm
import torch

PACKAGES = ("sgl-deep-gemm", "torch")
REACHES = "nvcc, in a directory of random name"


def on_gpu(number=1):
    torch.manual_seed(0)
    a, b = torch.randn(128, 256 * number, device="cuda").bfloat16(), torch.randn(512, 256 * number, device="cuda").bfloat16()
    result = torch.empty(128, 512, device="cuda", dtype=torch.bfloat16)
    deep_gemm.bf16_gemm_nt(a, b, result)
    assert torch.allclose(result.float(), a.float() @ b.float().T, rtol=2e-2, atol=0.5)
    return [result]


if __name__ == "__main__":
    print(on_gpu())
