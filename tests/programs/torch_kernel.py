# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: three kernels of `torch.cuda._compile_kernel`"""

import torch

PACKAGES = ("torch",)
REACHES = "NVRTC, by ctypes"


def on_gpu(number=1):
    results = []
    for each in range(3):
        source = f'extern "C" __global__ void k(float* p) {{ p[threadIdx.x] += {number} + {each}.5f; }}'
        x = torch.zeros(64, device="cuda")
        torch.cuda._compile_kernel(source, "k")((1, 1, 1), (64, 1, 1), (x,))
        assert (x == number + each + 0.5).all()
        results.append(x)
    return results


if __name__ == "__main__":
    print(on_gpu())
