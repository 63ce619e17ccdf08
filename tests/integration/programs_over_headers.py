# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Programs over the headers that CUDA programs include most, in groups that begin with the same includes."""

CUB_BLOCK = """
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#define THREADS 128
"""

CUB_DEVICE = """
#include <cub/agent/agent_reduce.cuh>
#include <cub/agent/agent_scan.cuh>
#include <cub/device/dispatch/kernels/radix_sort.cuh>
#include <cub/device/dispatch/kernels/reduce.cuh>
#include <cub/device/dispatch/kernels/scan.cuh>
#include <cub/grid/grid_even_share.cuh>
#include <cuda/std/functional>
"""

THRUST = """
#include <thrust/functional.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
"""

LIBCUDACXX = """
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
"""

GROUPS = """
/* One header of each kind
   that programs with narrow types use. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#if defined(__CUDACC_RTC__)
#  include <cuda/std/cstdint>
#endif

namespace cg = cooperative_groups;
"""


def block(collective, body, type="int", temporary="typename B::TempStorage", name="k"):
    return f"""
extern "C" __global__ void {name}(const {type}* in, {type}* out) {{
  using T = {type};
  using B = cub::{collective};
  __shared__ {temporary} storage;
  T x = in[blockIdx.x * THREADS + threadIdx.x];
  {body}
}}
"""


def reduction(type, operation):
    return f"""
struct Policy {{
  struct ActivePolicy {{
    using ReducePolicy =
        cub::AgentReducePolicy<256, 16, {type}, 4, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_LDG>;
    using SingleTilePolicy = ReducePolicy;
  }};
}};
template __global__ void cub::detail::reduce::DeviceReduceSingleTileKernel<
    Policy, const {type}*, {type}*, unsigned, {operation}, {type}, {type}, cuda::std::__identity>(
    const {type}*, {type}*, unsigned, {operation}, {type}, cuda::std::__identity);
"""


def scan(type, operation, inclusive):
    return f"""
struct Policy {{
  struct ActivePolicy {{
    using ScanPolicyT =
        cub::AgentScanPolicy<128, 8, {type}, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT,
                             cub::BLOCK_STORE_WARP_TRANSPOSE, cub::BLOCK_SCAN_WARP_SCANS>;
  }};
}};
using State = cub::ScanTileState<{type}>;
using Initial = cub::detail::InputValue<{type}>;
template __global__ void cub::detail::scan::DeviceScanInitKernel<State>(State, int);
template __global__ void cub::detail::scan::DeviceScanKernel<
    Policy, const {type}*, {type}*, State, {operation}, Initial, unsigned, {type}, {inclusive}, {type}>(
    const {type}*, {type}*, State, int, {operation}, Initial, unsigned);
"""


def radix_sort(key, value, order):
    return f"""
using Value = {value};
using Decomposer = cub::detail::identity_decomposer_t;
struct Policy {{
  struct ActivePolicy {{
    using UpsweepPolicy = cub::AgentRadixSortUpsweepPolicy<256, 8, {key}, cub::LOAD_DEFAULT, 6>;
    using DownsweepPolicy =
        cub::AgentRadixSortDownsweepPolicy<256, 8, {key}, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT,
                                           cub::RADIX_RANK_MATCH, cub::BLOCK_SCAN_WARP_SCANS, 6>;
    using AltUpsweepPolicy = UpsweepPolicy;
    using AltDownsweepPolicy = DownsweepPolicy;
    using SingleTilePolicy =
        cub::AgentRadixSortDownsweepPolicy<256, 8, {key}, cub::BLOCK_LOAD_DIRECT, cub::LOAD_LDG,
                                           cub::RADIX_RANK_MEMOIZE, cub::BLOCK_SCAN_WARP_SCANS, 6>;
  }};
}};
template __global__ void cub::detail::radix_sort::DeviceRadixSortUpsweepKernel<
    Policy, false, {order}, {key}, int, Decomposer>(
    const {key}*, int*, int, int, int, cub::GridEvenShare<int>, Decomposer);
template __global__ void cub::detail::radix_sort::DeviceRadixSortDownsweepKernel<
    Policy, false, {order}, {key}, Value, int, Decomposer>(
    const {key}*, {key}*, const Value*, Value*, int*, int, int, int, cub::GridEvenShare<int>, Decomposer);
template __global__ void cub::detail::radix_sort::DeviceRadixSortSingleTileKernel<
    Policy, {order}, {key}, Value, int, Decomposer>(
    const {key}*, {key}*, const Value*, Value*, int, int, int, Decomposer);
"""


def kernel(body, arguments="int* p", name="k"):
    return f'extern "C" __global__ void {name}({arguments}) {{\n  {body}\n}}\n'


PROGRAMS = {
    # CUB within a block.
    "block-sum": (CUB_BLOCK, block("BlockReduce<T, THREADS>", "T s = B(storage).Sum(x); if (!threadIdx.x) *out = s;")),
    "block-sum-double": (CUB_BLOCK, block("BlockReduce<T, THREADS, cub::BLOCK_REDUCE_RAKING>",
                                          "T s = B(storage).Sum(x); if (!threadIdx.x) *out = s;", "double")),
    "block-max": (CUB_BLOCK, block("BlockReduce<T, THREADS>",
                                   "T s = B(storage).Reduce(x, cuda::maximum<>{}); if (!threadIdx.x) *out = s;")),
    "block-own-operation": (CUB_BLOCK, """
namespace { struct Op { __device__ float operator()(float a, float b) const { return a * b + 1.0f; } }; }
static __device__ float twice(float x) { return x + x; }
""" + block("BlockReduce<T, THREADS>", "T s = B(storage).Reduce(twice(x), Op{}); if (!threadIdx.x) *out = s;", "float")),
    "block-scan": (CUB_BLOCK, block("BlockScan<T, THREADS>", "B(storage).InclusiveSum(x, x); out[threadIdx.x] = x;")),
    "block-scan-exclusive": (CUB_BLOCK, block("BlockScan<T, THREADS, cub::BLOCK_SCAN_WARP_SCANS>",
                                              "B(storage).ExclusiveSum(x, x); out[threadIdx.x] = x;", "long long")),
    "block-sort": (CUB_BLOCK, block("BlockRadixSort<T, THREADS, 1>",
                                    "T k[1] = {x}; B(storage).Sort(k); out[threadIdx.x] = k[0];")),
    "block-sort-pairs": (CUB_BLOCK, block("BlockRadixSort<T, THREADS, 1, short>",
                                          "T k[1] = {x}; short v[1] = {(short)threadIdx.x}; B(storage).Sort(k, v); "
                                          "out[threadIdx.x] = k[0] + v[0];", "unsigned")),
    "block-exchange": (CUB_BLOCK, block("BlockExchange<T, THREADS, 2>",
                                        "T v[2] = {x, x}; B(storage).StripedToBlocked(v); out[threadIdx.x] = v[1];")),
    "block-histogram": (CUB_BLOCK, block("BlockHistogram<unsigned char, THREADS, 1, 256>",
                                         "__shared__ T bins[256]; unsigned char v[1] = {(unsigned char)x}; "
                                         "B(storage).Histogram(v, bins); out[threadIdx.x] = bins[threadIdx.x];")),
    "block-heads": (CUB_BLOCK, block("BlockDiscontinuity<T, THREADS>",
                                     "T v[1] = {x}; int f[1]; B(storage).FlagHeads(f, v, cuda::std::not_equal_to<>{}); "
                                     "out[threadIdx.x] = f[0];")),
    "block-load": (CUB_BLOCK, block("BlockLoad<T, THREADS, 4, cub::BLOCK_LOAD_TRANSPOSE>",
                                    "T v[4]; B(storage).Load(in, v); out[threadIdx.x] = v[0] + v[3] + x;")),
    "warp-sum": (CUB_BLOCK, block("WarpReduce<T>", "out[threadIdx.x] = B(storage[threadIdx.x / 32]).Sum(x);",
                                  temporary="typename B::TempStorage", name="warps").replace(
                                      "storage;", "storage[THREADS / 32];")),
    "warp-scan": (CUB_BLOCK, block("WarpScan<T>", "B(storage).InclusiveSum(x, x); out[threadIdx.x] = x;", "float")),
    "two-kernels-and-a-template": (CUB_BLOCK, """
template <typename T, int N> __global__ void reduce(const T* in, T* out) {
  using B = cub::BlockReduce<T, N>;
  __shared__ typename B::TempStorage storage;
  T sum = B(storage).Sum(in[blockIdx.x * N + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum + __LINE__;
}
template __global__ void reduce<int, 64>(const int*, int*);
template __global__ void reduce<double, 256>(const double*, double*);
"""),
    # CUB's kernels for a whole device.
    "device-sum": (CUB_DEVICE, reduction("int", "cuda::std::plus<int>")),
    "device-sum-float": (CUB_DEVICE, reduction("float", "cuda::std::plus<float>")),
    "device-max": (CUB_DEVICE, reduction("double", "cuda::maximum<double>")),
    "device-own-operation": (CUB_DEVICE, """
struct Xor { __device__ unsigned operator()(unsigned a, unsigned b) const { return a ^ b; } };
""" + reduction("unsigned", "Xor")),
    "device-scan": (CUB_DEVICE, scan("int", "cuda::std::plus<int>", "false")),
    "device-scan-inclusive": (CUB_DEVICE, scan("float", "cuda::maximum<float>", "true")),
    "device-sort": (CUB_DEVICE, radix_sort("unsigned", "cub::NullType", "cub::SortOrder::Ascending")),
    "device-sort-pairs": (CUB_DEVICE, radix_sort("float", "int", "cub::SortOrder::Descending")),
    # Thrust
    "thrust-constant": (THRUST, kernel("thrust::constant_iterator<int> i(7); p[threadIdx.x] = i[threadIdx.x] + *(i + 2);")),
    "thrust-permutation": (THRUST, kernel("auto i = thrust::make_permutation_iterator(q, p); q[threadIdx.x] = i[threadIdx.x];",
                                          "int* p, float* q")),
    "thrust-counting": (THRUST, kernel("thrust::counting_iterator<int> i(3); p[threadIdx.x] = i[threadIdx.x] + *(i + 2);")),
    "thrust-transform": (THRUST, """
struct Square { __device__ int operator()(int x) const { return x * x; } };
""" + kernel("auto i = thrust::make_transform_iterator(p, Square{}); p[threadIdx.x] = i[threadIdx.x + 1];")),
    "thrust-zip": (THRUST, kernel("auto z = thrust::make_zip_iterator(thrust::make_tuple(p, q)); auto t = z[threadIdx.x]; "
                                  "q[threadIdx.x] = thrust::get<0>(t) + thrust::get<1>(t);", "int* p, float* q")),
    "thrust-functional": (THRUST, kernel("p[0] = thrust::maximum<int>{}(thrust::plus<int>{}(p[0], p[1]), p[2]);")),
    # libcu++
    "atomic-add": (LIBCUDACXX, kernel("cuda::atomic_ref<int, cuda::thread_scope_device>(*p).fetch_add(1);")),
    "atomic-cas": (LIBCUDACXX, kernel(
        "cuda::atomic_ref<unsigned, cuda::thread_scope_block> a(*p); unsigned e = 0; "
        "while (!a.compare_exchange_weak(e, e + 3, cuda::memory_order_relaxed)) {}", "unsigned* p")),
    "atomic-float-max": (LIBCUDACXX, kernel(
        "cuda::atomic_ref<float, cuda::thread_scope_system> a(*p); a.fetch_max(1.5f);", "float* p")),
    "barrier": (LIBCUDACXX, kernel(
        "__shared__ cuda::barrier<cuda::thread_scope_block> b; if (!threadIdx.x) init(&b, blockDim.x); __syncthreads(); "
        "p[threadIdx.x] += 1; b.arrive_and_wait(); p[threadIdx.x] += p[threadIdx.x ^ 1];")),
    "semaphore": (LIBCUDACXX, kernel("s->acquire(); *p += 1; s->release();",
                                     "cuda::binary_semaphore<cuda::thread_scope_device>* s, int* p")),
    "array": (LIBCUDACXX, kernel("cuda::std::array<int, 4> a{1, 2, 3, p[0]}; int s = 0; for (int x : a) s += x; p[1] = s;")),
    "bit": (LIBCUDACXX, kernel("*p = cuda::std::popcount(*p) + cuda::std::countl_zero(*p) + "
                               "cuda::std::bit_cast<unsigned>(1.0f);", "unsigned* p")),
    "complex": (LIBCUDACXX, kernel("cuda::std::complex<double> z(p[0], p[1]); z *= cuda::std::polar(2.0, 0.5); p[0] = z.imag();",
                                   "double* p")),
    "optional": (LIBCUDACXX, kernel("cuda::std::optional<int> o; if (p[0] > 3) o = p[1]; p[2] = o.value_or(-1);")),
    "span": (LIBCUDACXX, kernel("cuda::std::span<int> s(p, 8); p[0] = s.subspan(2, 3).size() + s.back();")),
    "tuple": (LIBCUDACXX, kernel("auto [a, b] = cuda::std::make_tuple(p[0], 2.5f); p[1] = a * b;")),
    # Cooperative groups, half, bfloat16
    "group-reduce": (GROUPS, kernel("auto w = cg::tiled_partition<32>(cg::this_thread_block()); "
                                    "p[threadIdx.x] = cg::reduce(w, p[threadIdx.x], cg::plus<int>());")),
    "group-sync": (GROUPS, kernel("auto b = cg::this_thread_block(); p[b.thread_rank()] = 1; b.sync(); "
                                  "p[b.thread_rank()] += p[b.size() - 1 - b.thread_rank()];")),
    "group-shuffle": (GROUPS, kernel("auto w = cg::tiled_partition<16>(cg::this_thread_block()); "
                                     "p[threadIdx.x] = w.shfl_down(p[threadIdx.x], 4) + w.ballot(p[0] > 2);")),
    "group-coalesced": (GROUPS, kernel("if (threadIdx.x & 1) { auto g = cg::coalesced_threads(); p[threadIdx.x] = g.size(); }")),
    "half": (GROUPS, kernel("p[threadIdx.x] = __hfma(p[threadIdx.x], __half(2.0f), hsqrt(p[0]));", "__half* p")),
    "half2": (GROUPS, kernel("p[threadIdx.x] = __hadd2(p[threadIdx.x], __half2half2(__float2half(0.5f)));", "__half2* p")),
    "bfloat16": (GROUPS, kernel("p[threadIdx.x] = __hmul(p[threadIdx.x], __float2bfloat16(1.25f)) + hexp(p[1]);",
                                "__nv_bfloat16* p")),
    "bfloat16-two": (GROUPS, kernel("p[0] = __hmax2(p[0], p[1]); p[1] = __floats2bfloat162_rn(1.0f, 2.0f);",
                                    "__nv_bfloat162* p")),
}
