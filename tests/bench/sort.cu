// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// A block-wide radix sort and scan with CUB, which takes the compiler more than a second. Each
// value of ROUND makes a different program.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/std/cstdint>

extern "C" __global__ void SortAndScan(cuda::std::uint32_t* keys, cuda::std::uint32_t* sums) {
  constexpr int kThreads = 256;
  constexpr int kItems = 8;
  using Sort = cub::BlockRadixSort<cuda::std::uint32_t, kThreads, kItems>;
  using Scan = cub::BlockScan<cuda::std::uint32_t, kThreads>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Scan::TempStorage scan;
  } shared;

  cuda::std::uint32_t items[kItems];
  const int begin = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  cub::LoadDirectBlocked(static_cast<int>(threadIdx.x), keys + blockIdx.x * kThreads * kItems, items);
  Sort(shared.sort).Sort(items);
  __syncthreads();
  for (int i = 0; i < kItems; ++i) keys[begin + i] = items[i] + ROUND;
  Scan(shared.scan).InclusiveSum(items, items);
  for (int i = 0; i < kItems; ++i) sums[begin + i] = items[i];
}
