// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum over an array with CUB, one block per tile: what a program compiles while it runs. ROUND and VALUE let the
// caller make it a program never seen before.
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cuda/std/cstdint>

#ifndef VALUE
#define VALUE float
#endif
#ifndef ROUND
#define ROUND 0
#endif

constexpr int kThreads = 256;
constexpr int kItems = 8;

extern "C" __global__ void ReduceTiles(const VALUE* in, VALUE* out, cuda::std::uint32_t count) {
  using Load = cub::BlockLoad<VALUE, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Reduce = cub::BlockReduce<VALUE, kThreads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Reduce::TempStorage reduce;
  } shared;

  const cuda::std::uint32_t begin = blockIdx.x * kThreads * kItems;
  VALUE items[kItems];
  Load(shared.load).Load(in + begin, items, static_cast<int>(count - begin), VALUE{ROUND});
  __syncthreads();
  const VALUE sum = Reduce(shared.reduce).Sum(items);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
