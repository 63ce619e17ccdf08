// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/toolchain.h"

#include <fmt/format.h>

namespace cccl_cached {

std::string PlaceOf(const std::vector<HeaderDirectory>& directories, size_t index) {
  const std::string& path = directories[index].path;
  for (size_t i = 0; i < directories.size(); ++i) {
    const std::string& outer = directories[i].path;
    if (i != index && path.starts_with(outer + "/")) {
      return fmt::format("{}{}", i, path.substr(outer.size()));
    }
  }
  return std::to_string(index);
}

std::string Toolchain::version() const { return fmt::format("{}.{}", major, minor); }

const CompilerLibrary* Toolchain::Library(cccl_cache::BuildKind kind) const {
  const auto pointer = [](const std::optional<CompilerLibrary>& library) {
    return library ? &*library : nullptr;
  };
  switch (kind) {
    case cccl_cache::BuildKind::kNvrtc:
      return pointer(nvrtc);
    case cccl_cache::BuildKind::kLink:
      return pointer(nvjitlink);
    case cccl_cache::BuildKind::kNvvm:
      return pointer(nvvm);
  }
  return nullptr;
}

}  // namespace cccl_cached
