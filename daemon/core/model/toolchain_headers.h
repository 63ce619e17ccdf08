// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The digests of a toolchain's headers, of single files and of whole directories. A place is the
/// number of a header directory and what follows: "0/cub/cub.cuh". A header directory that lies in
/// another one has the other's number: "0/cccl". Immutable.
class ToolchainHeaders {
 public:
  struct File {
    std::string place;
    cccl_cache::Digest contents;
    std::pair<uint64_t, uint64_t> inode;  ///< equal for two places of one file
  };
  struct Directory {
    std::string path;  ///< real
    std::string place;
  };

  ToolchainHeaders() : digests_{{"", {}}} {}
  /// `files`: sorted by place. `linked`: some are reached through symlinks, so ".." behind one is
  /// not the directory above by its letters.
  ToolchainHeaders(std::vector<File> files, std::vector<Directory> directories, bool linked);

  /// The digest at a place without ".." in it: of a directory over names and contents of all files
  /// in it, of "" over all files; none: no file lies there. Files that are one inode at several
  /// places have digests of their own, for compilers notice.
  [[nodiscard]] std::optional<cccl_cache::Digest> Find(std::string_view place) const;

  /// The places that decide what a name leads to, which may have ".." in it: the directories that
  /// are left again, then the last. "", all headers, where the letters can't tell.
  [[nodiscard]] std::vector<std::string> PlacesOf(std::string_view name) const;

  /// The innermost header directory that a real path lies in; null: none.
  [[nodiscard]] const Directory* DirectoryOf(std::string_view path) const;

 private:
  [[nodiscard]] bool IsDirectory(const std::string& place) const;

  std::map<std::string, cccl_cache::Digest, std::less<>> digests_;
  std::vector<Directory> directories_;
  bool linked_ = false;
};

}  // namespace cccl_cache::daemon
