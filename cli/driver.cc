// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/driver.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "cccl_cache/driver.h"
#include "cli/driver_cache.h"

namespace cccl_cache::cli {
namespace {

// Loading libcuda costs milliseconds; without one of these there is nothing that it could drive.
bool HasDevice() {
  constexpr std::array<const char*, 4> kDevices = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap",
                                                   "/dev/nvgpu"};
  return std::any_of(kDevices.begin(), kDevices.end(),
                     [](const char* device) { return access(device, F_OK) == 0; });
}

uint32_t AskDriver() {
  const Expected<Driver> driver = Driver::Open();
  if (!driver.ok()) return 0;
  const Expected<uint32_t> version = driver->Version();
  return version.ok() ? *version : 0;
}

}  // namespace

uint32_t DriverVersion() {
  return HasDevice() ? DriverMemory::OfThisProcess().Version(AskDriver) : 0;
}

Expected<std::string> NativeArchitecture() {
  const auto explain = [](const Error& error) {
    return Error{error.status, "--arch native asks the CUDA driver: " + error.message +
                                   "; or name the architecture, for example --arch sm_90"};
  };
  const Expected<Driver> driver = Driver::Open();
  if (!driver.ok()) return explain(driver.error());
  const Expected<int> capability = driver->ComputeCapability();
  if (!capability.ok()) return explain(capability.error());
  return std::to_string(*capability);
}

}  // namespace cccl_cache::cli
