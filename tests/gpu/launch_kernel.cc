// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// launch_kernel [SOCKET]: compiles kernels through the daemon for this machine's GPU, launches
// them, and checks their results. Exit status 1 if one is wrong.
#include <cccl_cache/client.h>
#include <cccl_cache/driver.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using cccl_cache::BuildOptions;
using cccl_cache::BuildResult;
using cccl_cache::Client;
using cccl_cache::Driver;
using cccl_cache::Error;
using cccl_cache::Expected;
using cccl_cache::Kind;
using cccl_cache::LoadedKernels;
using cccl_cache::NvrtcBuild;

constexpr size_t kElements = 1 << 20;
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = kElements / kThreads;

constexpr char kSource[] = R"(
template <typename T>
__global__ void scale(T* values, T factor) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i] * factor + T(i % 7);
}
extern "C" __global__ void sum_blocks(const float* values, float* sums) {
  __shared__ float part[256];
  part[threadIdx.x] = values[blockIdx.x * 256 + threadIdx.x];
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
)";

template <typename T>
T Must(Expected<T> result, const char* what) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
  std::exit(1);
}

/// Memory of the GPU.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(const Driver& driver, const std::vector<T>& values)
      : driver_(driver), size_(values.size()) {
    Must(driver_.Call("cuMemAlloc_v2", &address_, Bytes()), "allocate");
    const void* from = values.data();
    Must(driver_.Call("cuMemcpyHtoD_v2", address_, from, Bytes()), "copy to the GPU");
  }
  ~DeviceArray() { static_cast<void>(driver_.Call("cuMemFree_v2", address_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] std::vector<T> Read() const {
    std::vector<T> values(size_);
    void* to = values.data();
    Must(driver_.Call("cuMemcpyDtoH_v2", to, address_, Bytes()), "copy from the GPU");
    return values;
  }
  [[nodiscard]] void* argument() { return &address_; }

 private:
  [[nodiscard]] size_t Bytes() const { return size_ * sizeof(T); }

  const Driver& driver_;
  const size_t size_;
  uint64_t address_ = 0;
};

void Launch(const Driver& driver, CUfunc_st* function, std::vector<void*> arguments) {
  void* const none = nullptr;
  void** const given = arguments.data();
  void** const extra = nullptr;
  Must(driver.Call("cuLaunchKernel", function, kBlocks, 1u, 1u, kThreads, 1u, 1u, 0u, none, given,
                   extra),
       "launch");
  Must(driver.Call("cuCtxSynchronize"), "wait for the kernel");
}

template <typename T>
size_t WrongAfterScale(const Driver& driver, const LoadedKernels& kernels, const char* name) {
  std::vector<T> values(kElements);
  for (size_t i = 0; i < kElements; ++i) values[i] = static_cast<T>(i % 1000);
  DeviceArray<T> device(driver, values);
  T factor = 3;
  Launch(driver, Must(kernels.Function(name), name), {device.argument(), &factor});
  const std::vector<T> scaled = device.Read();
  size_t wrong = 0;
  for (size_t i = 0; i < kElements; ++i) {
    wrong += scaled[i] == static_cast<T>(values[i] * factor + static_cast<T>(i % 7)) ? 0 : 1;
  }
  return wrong;
}

size_t WrongAfterSum(const Driver& driver, const LoadedKernels& kernels) {
  std::vector<float> values(kElements);
  for (size_t i = 0; i < kElements; ++i) values[i] = static_cast<float>(i % 16);
  DeviceArray<float> device(driver, values);
  DeviceArray<float> sums(driver, std::vector<float>(kBlocks));
  Launch(driver, Must(kernels.Function("sum_blocks"), "sum_blocks"),
         {device.argument(), sums.argument()});
  const std::vector<float> read = sums.Read();
  size_t wrong = 0;
  for (const float sum : read) wrong += sum == 256 / 16 * 120.0f ? 0 : 1;
  return wrong;
}

/// Makes the context of the first GPU current, as any program that uses CUDA has one.
void MakeContext(const Driver& driver) {
  int device = 0;
  CUctx_st* context = nullptr;
  Must(driver.Call("cuInit", 0u), "initialize the driver");
  Must(driver.Call("cuDeviceGet", &device, 0), "find a GPU");
  Must(driver.Call("cuDevicePrimaryCtxRetain", &context, device), "make a context");
  Must(driver.Call("cuCtxSetCurrent", context), "make the context current");
}

}  // namespace

int main(int argc, char** argv) {
  const Driver driver = Must(Driver::Open(), "open the driver");
  MakeContext(driver);
  const std::string arch = Must(cccl_cache::NativeArch(), "ask for the architecture");
  const uint32_t version = Must(driver.Version(), "ask for the driver's version");
  std::printf("driver %u, %s\n", version, arch.c_str());
  Client client = Must(Client::Open(argc > 1 ? argv[1] : ""), "open the client");
  size_t wrong = 0;
  for (const Kind kind : {Kind::kCubin, Kind::kPtx}) {
    for (int round = 0; round < 2; ++round) {
      const BuildResult result =
          Must(client.Build(NvrtcBuild{.source = kSource,
                                       .name = "launch_kernel.cu",
                                       .options = {"-arch=" + arch},
                                       .name_expressions = {"scale<float>", "scale<int>"}},
                            BuildOptions{.driver_version = version, .wanted = {kind}}),
               "build");
      if (!result.compiled()) {
        std::fprintf(stderr, "%s\n", std::string(result.log()).c_str());
        return 1;
      }
      const LoadedKernels kernels = Must(LoadedKernels::Load(driver, result), "load");
      const size_t found = WrongAfterScale<float>(driver, kernels, "scale<float>") +
                           WrongAfterScale<int>(driver, kernels, "scale<int>") +
                           WrongAfterSum(driver, kernels);
      std::printf("%s, %s %s, %llu us: %zu wrong numbers\n",
                  cccl_cache_artifact_kind_name(static_cast<cccl_cache_artifact_kind>(kind)),
                  cccl_cache_outcome_name(result.info().outcome),
                  std::string(result.tier()).c_str(),
                  static_cast<unsigned long long>(result.info().total_us), found);
      wrong += found;
    }
  }
  return wrong == 0 ? 0 : 1;
}
