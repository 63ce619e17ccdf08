// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/requester_files.h"

#include <fmt/format.h>

namespace cccl_cached {

std::string RootDirectories::PathOf(const FileName& name) const {
  if (name.root == kAbsoluteRoot) return name.below.starts_with('/') ? name.below : std::string();
  const bool in_working_directory = name.root == kWorkingDirectoryRoot;
  if (!in_working_directory && name.root >= roots.size()) return {};
  const std::string& root = in_working_directory ? working_directory : roots[name.root];
  if (!root.starts_with('/')) return {};
  if (name.below.empty()) return root;
  return fmt::format("{}{}{}", root, root.ends_with('/') ? "" : "/", name.below);
}

SeenFile SeenIn(const ToolchainHeaders& toolchain, const FileName& name) {
  const std::optional<cccl_cache::Digest> digest = toolchain.Find(name.below);
  if (!digest) return {};
  return {.kind = FileKind::kToolchain, .digest = *digest};
}

}  // namespace cccl_cached
