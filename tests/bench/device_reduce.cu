// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// A reduction over a whole device, as CCCL's C library composes it at run time: types have only a
// size and an alignment, and the operation is linked in later. Name expressions name its kernels.
#include <cub/block/block_reduce.cuh>
#include <cub/device/dispatch/kernels/reduce.cuh>
#include <cuda/std/functional>

struct __align__(4) Storage {
  char data[4];
};

extern "C" __device__ void UserOperation(const void* left, const void* right, void* result);

struct Operation {
  __device__ Storage operator()(Storage left, Storage right) const {
    Storage result;
    UserOperation(&left, &right, &result);
    return result;
  }
};

struct Policy {
  struct ActivePolicy {
    using ReducePolicy = cub::AgentReducePolicy<256, 16, Storage, 4, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_LDG>;
    using SingleTilePolicy = ReducePolicy;
  };
};
