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

/// Maps the names that one job's compiler sees to places among its toolchain's headers. Reads no
/// file. Immutable.
class ToolchainPlaces {
 public:
  /// Makes an object for which no name is the toolchain's.
  ToolchainPlaces() : ToolchainPlaces(std::make_shared<const Toolchain>(), {}) {}
  ToolchainPlaces(ToolchainPtr toolchain, const std::vector<Mount>& mounts);

  /// Returns the path on disk of the toolchain's file with this visible name, by the spelling of
  /// the name. None if the name is not the toolchain's.
  [[nodiscard]] std::optional<std::string> PathOf(std::string_view visible) const;
  /// Returns whether a real path is the toolchain's.
  [[nodiscard]] bool LieIn(std::string_view path) const;
  /// Returns the closure's names for all places that decide the target of a visible name. Empty if
  /// the name is not the toolchain's. A file that is reached by its real path, and not below a root
  /// of the build, has that path as its name. In another toolchain the path is another file or
  /// none.
  [[nodiscard]] std::vector<FileName> NamesOf(std::string_view visible) const;
  /// Returns the name to announce when a worker without Landlock asks for a file. A worker that
  /// opens the file itself announces the same name. Empty for a root of the build, which always
  /// exists.
  [[nodiscard]] std::string AnnouncedFor(std::string_view visible) const;

  [[nodiscard]] const ToolchainHeaders& headers() const { return *toolchain_->contents; }

 private:
  [[nodiscard]] const Mount* MountOf(std::string_view visible) const;

  const ToolchainPtr toolchain_;
  std::vector<Mount> mounts_;  ///< only the trusted mounts
};

/// Returns the requester's files combined with the toolchain's headers, whose names are answered
/// without a look at a file.
[[nodiscard]] std::unique_ptr<RequesterFiles> WithToolchain(
    std::unique_ptr<RequesterFiles> files, std::shared_ptr<const ToolchainHeaders> toolchain);

}  // namespace cccl_cache::daemon
