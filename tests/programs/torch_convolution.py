# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a convolution with `torch.backends.cudnn.benchmark`"""

import torch

PACKAGES = ("torch",)
REACHES = "NVRTC (cuDNN), by its encoded call"


def on_gpu(number=1):
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(32, 64, 3, padding=1)
    x = torch.randn(4 + number, 32, 56, 56)
    expected = layer(x)
    with torch.no_grad():
        found = layer.cuda().half()(x.cuda().half().to(memory_format=torch.channels_last)).float().cpu()
    assert torch.allclose(found, expected, rtol=1e-2, atol=1e-2)
    return []  # cuDNN takes the kernel that was fastest in this process, so the last bits may differ


if __name__ == "__main__":
    print(on_gpu())
