// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::daemon {

/// Links with nvJitLink in this process, as a program without the cache does. Not thread-safe.
class RawNvJitLink {
 public:
  /// Loads the library, which is never unloaded. If that fails, prints the reason to stderr and
  /// returns null.
  static std::unique_ptr<RawNvJitLink> Load(const std::string& path);

  /// Links pieces of LTO-IR and returns the cubin; empty if they do not link.
  std::string Link(const std::vector<std::string_view>& pieces,
                   const std::vector<std::string>& options);

 private:
  using Linking = struct nvJitLink*;

  RawNvJitLink() = default;
  bool Find(void* library);
  std::string Cubin(Linking linking, const std::vector<std::string_view>& pieces);

  int (*create_)(Linking*, unsigned, const char**) = nullptr;
  int (*destroy_)(Linking*) = nullptr;
  int (*add_)(Linking, int, const void*, size_t, const char*) = nullptr;
  int (*complete_)(Linking) = nullptr;
  int (*cubin_size_)(Linking, size_t*) = nullptr;
  int (*cubin_)(Linking, void*) = nullptr;
};

}  // namespace cccl_cache::daemon
