// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compile/real_nvrtc.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "tests/unit/compile/job_of.h"

namespace cccl_cached {
namespace {

namespace fs = std::filesystem;

/// The first file below the directory whose name begins so; empty: none.
std::string FindBelow(const std::string& directory, std::string_view name) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error)) {
    const std::string found = entry.path().filename().string();
    if (found.starts_with(name) && found.find(".alt.") == std::string::npos) return entry.path();
  }
  return {};
}

ToolchainPtr FindToolchain() {
  for (const std::string root : {CUDA13_ROOTS}) {
    auto toolchain = std::make_shared<Toolchain>();
    const std::string library = FindBelow(root, "libnvrtc.so.13");
    const std::string builtins = FindBelow(root, "libnvrtc-builtins.so.13");
    if (library.empty() || builtins.empty()) continue;
    toolchain->major = 13;
    toolchain->serial = 1;
    toolchain->root = root;
    toolchain->nvrtc =
        CompilerLibrary{.path = library, .preload = {builtins}, .version = "13", .id = {}};
    return toolchain;
  }
  FAIL("tests with the real NVRTC need CUDA 13: run scripts/setup");
  return nullptr;
}

}  // namespace

RealNvrtc::RealNvrtc()
    : toolchain_(FindToolchain()), compiler_(WORKER_PATH, {}, [](std::string_view) {}) {}

CompileJob RealNvrtc::Job(const std::string& source, std::vector<std::string> options) const {
  return NvrtcJobOf(toolchain_, source, std::move(options));
}

}  // namespace cccl_cached
