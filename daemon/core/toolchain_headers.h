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

namespace cccl_cached {

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

  ToolchainHeaders() : ToolchainHeaders({}, false) {}
  /// `files`: sorted by place. `linked`: a directory is reached through a symlink, so that ".."
  /// behind it is not the directory above by its letters.
  ToolchainHeaders(std::vector<File> files, bool linked);

  /// What lies at a place, without ".." in it: of a directory the digest over names and contents of
  /// all files in it, of "" over all files; none: nothing. Files that are one inode at several
  /// places have digests of their own, for compilers notice.
  [[nodiscard]] std::optional<cccl_cache::Digest> Find(std::string_view place) const;
  /// The place that one with ".." in it means, or one where nothing is; none: it can't be told by
  /// the letters, or lies outside.
  [[nodiscard]] std::optional<std::string> Resolve(std::string_view name) const;

 private:
  std::map<std::string, cccl_cache::Digest, std::less<>> digests_;
  bool linked_ = false;
};

}  // namespace cccl_cached
