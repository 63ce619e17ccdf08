// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/driver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "base/files/user_cache.h"
#include "base/files/whole_file.h"
#include "base/machine.h"
#include "cccl_cache/driver.h"
#include "proto/digest.h"

namespace cccl_cache::cli {
namespace {

// Returns whether this machine has a GPU device file. If not, libcuda, whose loading takes
// milliseconds, would find no device.
bool HasDevice() {
  constexpr std::array<const char*, 4> kDevices = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap",
                                                   "/dev/nvgpu"};
  return std::any_of(kDevices.begin(), kDevices.end(),
                     [](const char* device) { return access(device, F_OK) == 0; });
}

/// Returns a text that changes if the file at this path is changed or replaced.
std::string Stamp(const char* path) {
  struct stat found {};
  if (stat(path, &found) != 0) return "none";
  return std::to_string(found.st_dev) + ' ' + std::to_string(found.st_ino) + ' ' +
         std::to_string(found.st_size) + ' ' + std::to_string(found.st_mtim.tv_sec) + ' ' +
         std::to_string(found.st_mtim.tv_nsec);
}

std::string Surroundings() {
  struct stat mounts {};
  if (stat("/proc/self/ns/mnt", &mounts) != 0) mounts = {};
  std::string text = BootId() + '\n' + ReadFileAt("/sys/module/nvidia/version").value_or("") +
                     std::to_string(mounts.st_ino) + '\n';
  // In WSL, the driver is a part of Windows and has no kernel module here. It may change while
  // Linux runs, so its library's file is included.
  for (const char* file : {"/etc/ld.so.cache", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    text += Stamp(file) + '\n';
  }
  for (const char* variable : {"LD_LIBRARY_PATH", "LD_PRELOAD"}) {
    const char* const value = secure_getenv(variable);
    text += std::string(value == nullptr ? "" : value) + '\n';
  }
  return text;
}

uint32_t AskDriver() {
  const Expected<Driver> driver = Driver::Open();
  if (!driver.ok()) return 0;
  const Expected<uint32_t> version = driver->Version();
  return version.ok() ? *version : 0;
}

}  // namespace

uint32_t DriverVersion() { return HasDevice() ? KeptDriverVersion(AskDriver) : 0; }

uint32_t KeptDriverVersion(const std::function<uint32_t()>& ask) {
  if (BootId().empty()) return ask();
  const UserCache versions = UserCache::Of("driver-versions");
  const std::string name = Sha256(Surroundings()).Hex();
  const std::string kept = versions.Get(name).value_or("");
  const char* const end = kept.data() + kept.size();
  uint32_t version = 0;
  const auto [after, error] = std::from_chars(kept.data(), end, version);
  if (error == std::errc() && after == end && version != 0) return version;
  version = ask();
  if (version != 0) versions.Put(name, std::to_string(version));
  return version;
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
