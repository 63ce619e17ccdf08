# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""FlashInfer: `silu_and_mul`, and attention for one query"""

import os

import flashinfer
import torch

PACKAGES = ("flashinfer-python",)
REACHES = "ninja, nvcc"


def on_gpu(number=1):
    torch.manual_seed(0)
    x = torch.randn(128, 256, dtype=torch.float16 if number % 2 else torch.bfloat16, device="cuda")
    product = flashinfer.silu_and_mul(x)
    assert torch.allclose(product.float(), torch.nn.functional.silu(x[:, :128].float()) * x[:, 128:].float(), atol=3e-2)
    q, k, v = (torch.randn(*shape, dtype=x.dtype, device="cuda") for shape in ((8, 128), (256, 8, 128), (256, 8, 128)))
    attention = flashinfer.single_decode_with_kv_cache(q, k, v)
    expected = torch.nn.functional.scaled_dot_product_attention(
        q[:, None].float(), k.transpose(0, 1).float(), v.transpose(0, 1).float())[:, 0]
    assert torch.allclose(attention.float(), expected, atol=3e-2)
    return [product, attention]


def without_gpu(number=1):
    """Builds the module of `silu_and_mul` or another activation. The library has names of nvcc's temporary files."""
    from flashinfer.activation import gen_act_and_mul_module

    os.environ["FLASHINFER_CUDA_ARCH_LIST"] = "9.0a"
    gen_act_and_mul_module("silu" if number % 2 else "gelu").build(verbose=False)
    return []


if __name__ == "__main__":
    print(on_gpu())
