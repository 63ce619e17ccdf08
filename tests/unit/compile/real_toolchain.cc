// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compile/real_toolchain.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

/// Returns the path of the first file below the directory whose name begins with `name`; empty if
/// there is none.
std::string FindBelow(const std::string& directory, std::string_view name) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error)) {
    const std::string found = entry.path().filename().string();
    if (found.starts_with(name) && found.find(".alt.") == std::string::npos) return entry.path();
  }
  return {};
}

}  // namespace

ToolchainPtr RealToolchain() {
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

}  // namespace cccl_cache::daemon
