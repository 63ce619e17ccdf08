# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: five functions of jiterator"""

import torch

PACKAGES = ("torch",)
REACHES = "NVRTC"


def on_gpu(number=1):
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    results = []
    for each in range(5):
        function = torch.cuda.jiterator._create_jit_fn(
            f"template <typename T> T f(T x) {{ return x * T({number}) + T({each}); }}")
        results.append(function(x))
        assert torch.equal(results[-1], x * number + each)
    return results


if __name__ == "__main__":
    print(on_gpu())
