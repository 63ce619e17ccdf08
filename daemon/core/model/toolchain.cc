// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/toolchain.h"

#include <fmt/format.h>

namespace cccl_cache::daemon {

size_t OutermostOf(const std::vector<HeaderDirectory>& directories, size_t index) {
  size_t outermost = index;
  for (size_t i = 0; i < directories.size(); ++i) {
    const std::string& outer = directories[outermost].path;
    if (outer.starts_with(directories[i].path + "/")) outermost = i;
  }
  return outermost;
}

std::string PlaceOf(const std::vector<HeaderDirectory>& directories, size_t index) {
  const size_t outermost = OutermostOf(directories, index);
  return fmt::format("{}{}", outermost,
                     directories[index].path.substr(directories[outermost].path.size()));
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

}  // namespace cccl_cache::daemon
