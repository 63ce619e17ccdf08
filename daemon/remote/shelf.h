// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/cluster.h"
#include "daemon/remote/trust_list.h"

namespace cccl_cache::daemon {

class SignedSnapshot;

/// A directory of signed snapshots, as it was when it was looked at: each FILE with its FILE.sig.
/// Its index is in memory, the records stay in the files, which are kept open. Immutable and
/// thread-safe. The file system is not trusted: the index is taken if a trusted key signed it, and
/// the bytes of a record if the index has their digest.
class Shelf {
 public:
  /// Blocks as long as the file system does. What cannot be used is told by problems(). `before`:
  /// the same directory earlier, or null; snapshots that did not change are taken from there.
  [[nodiscard]] static std::shared_ptr<const Shelf> LookAt(const std::string& directory,
                                                           const TrustList& trusted,
                                                           const Shelf* before);

  /// Looks at no file.
  [[nodiscard]] bool HoldsAny(const std::vector<SharedEntry>& entries) const;

  struct Reading {
    std::vector<ArtifactPtr> entries;  ///< one for each that was asked for, or null
    uint64_t refused = 0;
  };
  /// Reads entries of snapshots whose signers are in the list. Blocks as long as the file system
  /// does.
  [[nodiscard]] Reading Read(const std::vector<SharedEntry>& entries,
                             const TrustList& trusted) const;

  [[nodiscard]] size_t snapshots() const { return snapshots_.size(); }
  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// One line for each file that is not used, with its name and the way out.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Add(const std::string& path, const TrustList& trusted, const Shelf* before);

  std::vector<std::shared_ptr<const SignedSnapshot>> snapshots_;
  uint64_t entries_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace cccl_cache::daemon
