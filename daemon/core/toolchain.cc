// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/toolchain.h"

#include <fmt/format.h>

namespace cccl_cached {

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
