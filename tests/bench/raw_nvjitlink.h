// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::daemon {

/// nvJitLink as a program that links by itself calls it. Thread-compatible.
class RawNvJitLink {
 public:
  /// Null: it could not be loaded; says why on stderr. The library stays loaded.
  static std::unique_ptr<RawNvJitLink> Load(const std::string& path);

  /// The cubin of these pieces of LTO-IR; empty: they don't link.
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
