// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum over an array with CUB, one block per tile, as a program compiles it while it runs.
// REDUCE_TYPE is the type of the elements.
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cuda/std/cstdint>

#ifndef REDUCE_TYPE
#define REDUCE_TYPE float
#endif

constexpr int kThreads = 256;
constexpr int kItems = 8;

extern "C" __global__ void ReduceTiles(const REDUCE_TYPE* in, REDUCE_TYPE* out,
                                       cuda::std::uint32_t count) {
  using Load = cub::BlockLoad<REDUCE_TYPE, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Reduce = cub::BlockReduce<REDUCE_TYPE, kThreads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Reduce::TempStorage reduce;
  } shared;

  const cuda::std::uint32_t begin = blockIdx.x * kThreads * kItems;
  REDUCE_TYPE items[kItems];
  Load(shared.load).Load(in + begin, items, static_cast<int>(count - begin), REDUCE_TYPE{0});
  __syncthreads();
  const REDUCE_TYPE sum = Reduce(shared.reduce).Sum(items);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
