# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: `torch.compile` of a small model"""

import torch

PACKAGES = ("torch",)
REACHES = "ptxas (Triton)"


def on_gpu(number=1):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda()
    x = torch.randn(32 + number, 64, device="cuda")
    result = torch.compile(model, dynamic=False)(x)
    assert torch.allclose(result, model(x), rtol=1e-2, atol=1e-2)
    return []  # Inductor takes the variant of a sum that was fastest in this process, so the last bits may differ


if __name__ == "__main__":
    print(on_gpu())
