# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: AOTInductor makes a package of a small model and loads it"""

import os
import tempfile

import torch

PACKAGES = ("torch",)
REACHES = "ptxas (Triton); g++ for the wrapper"


def on_gpu(number=1):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda().eval()
    x = torch.randn(32 + number, 64, device="cuda")
    with torch.no_grad(), tempfile.TemporaryDirectory() as place:
        exported = torch.export.export(model, (x,))
        path = torch._inductor.aoti_compile_and_package(exported, package_path=os.path.join(place, "model.pt2"))
        result = torch._inductor.aoti_load_package(path)(x)
        assert torch.allclose(result, model(x), rtol=1e-2, atol=1e-2)
    return []  # as for torch_compile


if __name__ == "__main__":
    print(on_gpu())
