// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/requester_files.h"

#include <fmt/format.h>

namespace cccl_cache::daemon {

std::string RootDirectories::PathOf(const FileName& name) const {
  if (name.root == kAbsoluteRoot) return name.below.starts_with('/') ? name.below : std::string();
  const bool in_working_directory = name.root == kWorkingDirectoryRoot;
  if (!in_working_directory && name.root >= roots.size()) return {};
  const std::string& root = in_working_directory ? working_directory : roots[name.root];
  if (!root.starts_with('/')) return {};
  if (name.below.empty()) return root;
  return fmt::format("{}{}{}", root, root.ends_with('/') ? "" : "/", name.below);
}

std::optional<SeenFile> SeenIn(const ToolchainHeaders& toolchain, const FileName& name) {
  std::string place = name.below;
  if (place.starts_with('/')) {
    const ToolchainHeaders::Directory* const directory = toolchain.DirectoryOf(place);
    if (directory == nullptr) return std::nullopt;
    place.replace(0, directory->path.size(), directory->place);
  }
  const std::optional<cccl_cache::Digest> digest = toolchain.Find(place);
  if (!digest) return SeenFile{};
  return SeenFile{.kind = FileKind::kToolchain, .digest = *digest};
}

}  // namespace cccl_cache::daemon
