// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda/std/cstdint>

template <typename T>
__global__ void scale(T* values, T factor, cuda::std::int64_t count) {
  const auto i = cuda::std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}
