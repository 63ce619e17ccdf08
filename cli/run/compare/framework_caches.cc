// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/compare/framework_caches.h"

#include <array>
#include <filesystem>
#include <utility>

#include "cli/run/environment.h"

namespace cccl_cache::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEntries = 100'000;

struct Known {
  const char* framework;
  const char* variable;
  const char* below_home;        ///< the directory if the variable is not set
  const char* below_value = "";  ///< the directory in the one that the variable names
};

constexpr std::array<Known, 7> kKnown = {{
    {"CuPy", "CUPY_CACHE_DIR", "/.cupy/kernel_cache"},
    {"Triton", "TRITON_CACHE_DIR", "/.triton/cache"},
    {"Warp", "WARP_CACHE_PATH", "/.cache/warp"},
    {"FlashInfer", "FLASHINFER_WORKSPACE_BASE", "/.cache/flashinfer", "/.cache/flashinfer"},
    {"TileLang", "TILELANG_CACHE_DIR", "/.tilelang/cache"},
    {"PyTorch extensions", "TORCH_EXTENSIONS_DIR", "/.cache/torch_extensions"},
    {"the CUDA driver", "CUDA_CACHE_PATH", "/.nv/ComputeCache"},
}};

size_t CountEntries(const std::string& directory) {
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  std::error_code error;
  size_t count = 0;
  for (fs::recursive_directory_iterator each(directory, kSkip, error), end;
       !error && each != end && count < kMaxEntries; each.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

std::vector<FrameworkCache> FrameworkCaches() {
  std::vector<FrameworkCache> caches;
  const std::string home = Variable("HOME");
  const auto add = [&caches](const char* framework, const char* variable, std::string directory) {
    const size_t entries = CountEntries(directory);
    caches.push_back({framework, variable, std::move(directory), entries});
  };
  for (const Known& each : kKnown) {
    std::string directory = Variable(each.variable);
    if (!directory.empty()) {
      directory += each.below_value;
    } else if (!home.empty()) {
      directory = home + each.below_home;
    }
    if (!directory.empty()) add(each.framework, each.variable, std::move(directory));
  }
  std::string inductor = Variable("TORCHINDUCTOR_CACHE_DIR");
  if (inductor.empty()) inductor = "/tmp/torchinductor_" + Variable("USER");
  add("torch.compile", "TORCHINDUCTOR_CACHE_DIR", std::move(inductor));
  if (std::string jax = Variable("JAX_COMPILATION_CACHE_DIR"); !jax.empty()) {
    add("JAX", "JAX_COMPILATION_CACHE_DIR", std::move(jax));
  }
  return caches;
}

}  // namespace cccl_cache::cli
