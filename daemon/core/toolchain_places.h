// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/compiler.h"
#include "daemon/core/requester_files.h"
#include "daemon/core/toolchain.h"

namespace cccl_cached {

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
  /// What the closure calls all that decides what the name leads to; empty: it is not the
  /// toolchain's. A file that is reached by its real path and not below a root of the build is
  /// known by that path, which in another toolchain is another file or none.
  [[nodiscard]] std::vector<FileName> NamesOf(std::string_view visible) const;
  /// What a worker announces that opens the toolchain's headers by itself, for one that asks for
  /// each; empty: the compiler is told of a root of the build without a look.
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

}  // namespace cccl_cached
