// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace cccl_cache::cli {
namespace {

// CUdevice_attribute
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

/// The driver's library, for as long as the process runs: unloading it is not safe.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {}

  [[nodiscard]] bool present() const { return library_ != nullptr; }
  /// The name of the function, then its arguments; not 0: the driver's error, or no such function.
  template <typename... Arguments>
  int Call(const char* name, Arguments... arguments) const {
    constexpr int kNotFound = 500;
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    return function == nullptr ? kNotFound : function(arguments...);
  }

 private:
  void* const library_;
};

// Loading libcuda costs milliseconds; without one of these there is nothing that it could drive.
bool HasDevice() {
  constexpr std::array<const char*, 4> kDevices = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap",
                                                   "/dev/nvgpu"};
  return std::any_of(kDevices.begin(), kDevices.end(),
                     [](const char* device) { return access(device, F_OK) == 0; });
}

}  // namespace

uint32_t DriverVersion() {
  if (!HasDevice()) return 0;
  const Driver driver;
  int version = 0;
  if (!driver.present() || driver.Call("cuDriverGetVersion", &version) != 0) return 0;
  return version > 0 ? static_cast<uint32_t>(version) : 0;
}

Expected<std::string> NativeArchitecture() {
  constexpr std::string_view kWayOut = ": name the architecture, for example --arch sm_90";
  const Driver driver;
  if (!driver.present()) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 "--arch native asks the CUDA driver, and this machine has none (libcuda.so.1)" +
                     std::string(kWayOut)};
  }
  int device = 0;
  int major = 0;
  int minor = 0;
  int failed = driver.Call("cuInit", 0u);
  if (failed == 0) failed = driver.Call("cuDeviceGet", &device, 0);
  if (failed == 0) {
    failed = driver.Call("cuDeviceGetAttribute", &major, kComputeCapabilityMajor, device);
  }
  if (failed == 0) {
    failed = driver.Call("cuDeviceGetAttribute", &minor, kComputeCapabilityMinor, device);
  }
  if (failed != 0) {
    return Error{CCCL_CACHE_UNAVAILABLE, "--arch native: the CUDA driver names no device (error " +
                                             std::to_string(failed) + ")" + std::string(kWayOut)};
  }
  return std::to_string(major) + std::to_string(minor);
}

}  // namespace cccl_cache::cli
