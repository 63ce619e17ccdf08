// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// Where the names that the compiler of one job sees lie among its toolchain's headers. Looks at no
/// file. Immutable.
class ToolchainPlaces {
 public:
  /// No name is a toolchain's.
  ToolchainPlaces() : ToolchainPlaces(std::make_shared<const Toolchain>(), {}) {}
  ToolchainPlaces(ToolchainPtr toolchain, const std::vector<Mount>& mounts);

  /// Where the toolchain's file with this visible name lies on disk, by the letters of the name;
  /// none: it is not the toolchain's.
  [[nodiscard]] std::optional<std::string> PathOf(std::string_view visible) const;
  /// Whether a real path is the toolchain's.
  [[nodiscard]] bool LieIn(std::string_view path) const;
  /// The names in the closure of all that decides what a visible name leads to; empty: it is not
  /// the toolchain's. A file that is reached by its real path and not below a root of the build is
  /// known by that path, which in another toolchain is another file or none.
  [[nodiscard]] std::vector<FileName> NamesOf(std::string_view visible) const;
  /// The announcement for a file that a worker without Landlock asks for, the same as that of one
  /// that opens it by itself; empty: a root of the build, which is there whatever lies in it.
  [[nodiscard]] std::string AnnouncedFor(std::string_view visible) const;

  [[nodiscard]] const ToolchainHeaders& headers() const { return *toolchain_->contents; }

 private:
  [[nodiscard]] const Mount* MountOf(std::string_view visible) const;

  const ToolchainPtr toolchain_;
  std::vector<Mount> mounts_;  ///< the trusted ones
};

/// The requester's files, and the toolchain's headers without a look at a file.
[[nodiscard]] std::unique_ptr<RequesterFiles> WithToolchain(
    std::unique_ptr<RequesterFiles> files, std::shared_ptr<const ToolchainHeaders> toolchain);

}  // namespace cccl_cache::daemon
