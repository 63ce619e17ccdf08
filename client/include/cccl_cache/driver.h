// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cccl_cache/build.h"
#include "cccl_cache/build_result.h"
#include "cccl_cache/expected.h"

// Types of the CUDA driver API. With them, a CUfunction can be passed to cuLaunchKernel, and this
// header does not include cuda.h.
struct CUctx_st;
struct CUfunc_st;
struct CUkern_st;
struct CUlib_st;
struct CUmod_st;

/// Functions that load the kernels of a build with the CUDA driver API. Header-only. libcuda is
/// opened at run time: a program is not linked with it, and starts on machines without a GPU.
namespace cccl_cache {

/// The CUDA driver of this machine. Copies refer to the same driver. Thread-safe.
class Driver {
 public:
  /// Opens libcuda.so.1. It is never closed, because unloading it is not safe.
  /// CCCL_CACHE_UNAVAILABLE: this machine has no driver.
  static Expected<Driver> Open() {
    const Driver driver(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL));
    if (driver.library_ == nullptr) {
      return Error{CCCL_CACHE_UNAVAILABLE,
                   "this machine has no CUDA driver (libcuda.so.1 can't be opened): install "
                   "NVIDIA's driver, or give the container access to it"};
    }
    return driver;
  }

  /// Returns the result of cuDriverGetVersion, for example 13000 for 13.0.
  [[nodiscard]] Expected<uint32_t> Version() const {
    int version = 0;
    if (auto done = Call("cuDriverGetVersion", &version); !done.ok()) {
      return std::move(done).error();
    }
    return static_cast<uint32_t>(version);
  }

  /// Returns the compute capability of a device as a number, for example 90 for 9.0. The device is
  /// that of the context that is current on this thread. Without a context it is the first device
  /// that is visible to the process. Initializes the driver.
  [[nodiscard]] Expected<int> ComputeCapability() const {
    int device = 0;
    CUctx_st* context = nullptr;
    Expected<Done> done = Call("cuInit", 0u);
    if (done.ok()) done = Call("cuCtxGetCurrent", &context);
    if (done.ok()) {
      done = context != nullptr ? Call("cuCtxGetDevice", &device) : Call("cuDeviceGet", &device, 0);
    }
    int major = 0;
    int minor = 0;
    if (done.ok()) done = Call("cuDeviceGetAttribute", &major, kCapabilityMajor, device);
    if (done.ok()) done = Call("cuDeviceGetAttribute", &minor, kCapabilityMinor, device);
    if (!done.ok()) return std::move(done).error();
    return major * 10 + minor;
  }

  /// Calls the function of the driver with this name. A result other than CUDA_SUCCESS becomes an
  /// error, whose message has the driver's name of the result.
  template <typename... Arguments>
  Expected<Done> Call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    if (function == nullptr) {
      return Error{CCCL_CACHE_UNAVAILABLE, "this machine's CUDA driver is too old: it has no " +
                                               std::string(name) + "; install a newer one"};
    }
    const int result = function(arguments...);
    if (result == 0) return Done{};
    return Error{CCCL_CACHE_UNAVAILABLE, std::string(name) + ": " + NameOf(result)};
  }
  [[nodiscard]] bool Has(const char* name) const { return dlsym(library_, name) != nullptr; }

 private:
  // values of CUdevice_attribute
  static constexpr int kCapabilityMajor = 75;
  static constexpr int kCapabilityMinor = 76;

  explicit Driver(void* library) : library_(library) {}

  [[nodiscard]] std::string NameOf(int result) const {
    using GetErrorName = int (*)(int, const char**);
    const auto function = reinterpret_cast<GetErrorName>(dlsym(library_, "cuGetErrorName"));
    const char* name = nullptr;
    if (function == nullptr || function(result, &name) != 0 || name == nullptr) {
      return "error " + std::to_string(result);
    }
    return name;
  }

  void* library_;
};

/// Returns the architecture of the device that Driver::ComputeCapability selects, as NVRTC and
/// nvJitLink expect it: "sm_90".
inline Expected<std::string> NativeArch() {
  const Expected<Driver> driver = Driver::Open();
  if (!driver.ok()) return driver.error();
  const Expected<int> capability = driver->ComputeCapability();
  if (!capability.ok()) return capability.error();
  return "sm_" + std::to_string(*capability);
}

/// The loaded kernels of one build. The destructor unloads them. Use it on one thread at a time.
/// With CUDA 12.0 and later drivers the kernels can be launched in every context. With older
/// drivers, they can be launched only in the context that was current during Load.
class LoadedKernels {
 public:
  /// Loads the cubin of a build. If there is none, loads the PTX, which the driver compiles. The
  /// program must have made a context current. CCCL_CACHE_INVALID_REQUEST: the build has neither.
  static Expected<LoadedKernels> Load(const Driver& driver, const BuildResult& result) {
    std::string_view image = result.artifact(Kind::kCubin);
    if (image.empty()) image = result.artifact(Kind::kPtx);
    if (image.empty()) {
      return Error{CCCL_CACHE_INVALID_REQUEST,
                   "there is nothing to load: the build has neither a cubin nor PTX"};
    }
    LoadedKernels loaded(driver);
    const Expected<Done> done =
        driver.Has("cuLibraryLoadData")
            ? driver.Call("cuLibraryLoadData", &loaded.library_, Pointer(image.data()), kNoOptions,
                          kNoOptions, 0u, kNoOptions, kNoOptions, 0u)
            : driver.Call("cuModuleLoadData", &loaded.module_, Pointer(image.data()));
    if (!done.ok()) return done.error();
    for (const LoweredName& name : result.lowered_names()) {
      loaded.lowered_.emplace(name.expression, name.lowered);
    }
    return loaded;
  }

  LoadedKernels(LoadedKernels&& other) noexcept
      : driver_(other.driver_),
        library_(std::exchange(other.library_, nullptr)),
        module_(std::exchange(other.module_, nullptr)),
        lowered_(std::move(other.lowered_)) {}
  LoadedKernels& operator=(LoadedKernels&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(library_, other.library_);
    std::swap(module_, other.module_);
    std::swap(lowered_, other.lowered_);
    return *this;
  }
  ~LoadedKernels() {
    if (library_ != nullptr) static_cast<void>(driver_.Call("cuLibraryUnload", library_));
    if (module_ != nullptr) static_cast<void>(driver_.Call("cuModuleUnload", module_));
  }

  /// Returns a CUfunction for the current context. `name` is one of the name expressions of the
  /// build, with the same spelling, or the name of an extern "C" kernel.
  [[nodiscard]] Expected<CUfunc_st*> Function(std::string_view name) const {
    const auto found = lowered_.find(std::string(name));
    const std::string lowered = found != lowered_.end() ? found->second : std::string(name);
    CUfunc_st* function = nullptr;
    Expected<Done> done = Done{};
    if (module_ != nullptr) {
      done = driver_.Call("cuModuleGetFunction", &function, module_, lowered.c_str());
    } else {
      CUkern_st* kernel = nullptr;
      done = driver_.Call("cuLibraryGetKernel", &kernel, library_, lowered.c_str());
      if (done.ok()) done = driver_.Call("cuKernelGetFunction", &function, kernel);
    }
    if (done.ok()) return function;
    return Error{done.error().status, "no kernel " + std::string(name) + " (" +
                                          done.error().message +
                                          "): is it among the build's name_expressions, or extern "
                                          "\"C\", and is a context current?"};
  }

 private:
  static constexpr void* kNoOptions = nullptr;

  explicit LoadedKernels(const Driver& driver) : driver_(driver) {}

  static const void* Pointer(const char* bytes) { return bytes; }

  Driver driver_;
  CUlib_st* library_ = nullptr;  // either library_ or module_ is null
  CUmod_st* module_ = nullptr;
  std::unordered_map<std::string, std::string> lowered_;
};

}  // namespace cccl_cache
