# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an extension by `load_inline`"""

import os

import torch
import torch.utils.cpp_extension

PACKAGES = ("torch", "ninja")
REACHES = "ninja, nvcc, g++"
SOURCE = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
template <typename T> __global__ void scale(const T* x, T* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(float(x[i]) * a) + T(NUMBER);
}
torch::Tensor run(torch::Tensor x, double a) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), a, n);
  });
  return y;
}
"""


def on_gpu(number=1):
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "%d.%d" % torch.cuda.get_device_capability())
    module = torch.utils.cpp_extension.load_inline(
        "scaled", cpp_sources="torch::Tensor run(torch::Tensor x, double a);",
        cuda_sources=SOURCE.replace("NUMBER", str(number)), functions=["run"])
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    result = module.run(x, 2.0)
    assert torch.equal(result, x * 2 + number)
    return [result]


if __name__ == "__main__":
    print(on_gpu())
