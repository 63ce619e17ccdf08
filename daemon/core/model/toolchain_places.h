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

/// Maps the file names that the compiler of one job sees to the headers of the job's toolchain. The
/// mapping uses names only and reads no file. Immutable.
class ToolchainPlaces {
 public:
  /// Makes an object without a toolchain, which maps no name.
  ToolchainPlaces() : ToolchainPlaces(std::make_shared<const Toolchain>(), {}) {}
  ToolchainPlaces(ToolchainPtr toolchain, const std::vector<Mount>& mounts);

  /// Returns the path on disk of the toolchain's file that the compiler sees under this name. The
  /// path follows from the text of the name; symlinks are not resolved. None if the name is outside
  /// the toolchain's headers.
  [[nodiscard]] std::optional<std::string> PathOf(std::string_view visible) const;
  /// Returns whether a path on disk, not a visible name, is inside the toolchain's headers.
  [[nodiscard]] bool LieIn(std::string_view path) const;
  /// Returns the names, for a closure, of all places in the toolchain that decide which file a
  /// visible name leads to. Empty if the name is outside the toolchain's headers. A file that is
  /// not below a root of the build is named by its path on disk. That path leads to another file,
  /// or to none, in another toolchain.
  [[nodiscard]] std::vector<FileName> NamesOf(std::string_view visible) const;
  /// Returns the name that counts as announced when a worker without Landlock asks the daemon for a
  /// file. A worker with Landlock opens the file itself, and first announces the same name to the
  /// daemon. Empty for a root of the build, which always exists.
  [[nodiscard]] std::string AnnouncedFor(std::string_view visible) const;

  [[nodiscard]] const ToolchainHeaders& headers() const { return *toolchain_->contents; }

 private:
  [[nodiscard]] const Mount* MountOf(std::string_view visible) const;

  const ToolchainPtr toolchain_;
  std::vector<Mount> mounts_;  ///< the mounts whose target is a directory of the toolchain
};

/// Returns the requester's files combined with the toolchain's headers. Names in the toolchain are
/// answered from memory, without access to a disk.
[[nodiscard]] std::unique_ptr<RequesterFiles> WithToolchain(
    std::unique_ptr<RequesterFiles> files, std::shared_ptr<const ToolchainHeaders> toolchain);

}  // namespace cccl_cache::daemon
