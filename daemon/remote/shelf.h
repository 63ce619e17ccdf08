// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files/file_stamp.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/cluster.h"
#include "daemon/remote/trust_list.h"

namespace cccl_cache::daemon {

class SignedSnapshot;

/// The signed snapshots in a directory at one time: each FILE with its FILE.sig. Their indexes are
/// in memory. Their records stay in the files, which are kept open. The file system is not trusted:
/// an index must be signed by a trusted key, and a record must have the digest that the index
/// lists. Immutable and thread-safe.
class Shelf {
 public:
  struct Rules {
    std::shared_ptr<const TrustList> trusted;
    uint64_t entry_limit = 0;  ///< in bytes; larger records are left out
  };
  /// Reads the directory. Blocks as long as the file system does. problems() of the result lists
  /// the unusable files. `before` is an earlier state of the same directory, or null. Files that
  /// have not changed since then are not read again.
  [[nodiscard]] static std::shared_ptr<const Shelf> LookAt(const std::string& directory,
                                                           const Rules& rules, const Shelf* before);

  /// Returns whether a snapshot's index has any of the entries. Reads no file.
  [[nodiscard]] bool HoldsAny(const std::vector<EntryName>& names) const;

  struct Reading {
    std::vector<SharedEntry> entries;  ///< one for each name; empty if there is no such entry
    uint64_t refused = 0;
  };
  /// Reads entries from the snapshots whose signer is in `trusted`. Blocks as long as the file
  /// system does.
  [[nodiscard]] Reading Read(const std::vector<EntryName>& names, const TrustList& trusted) const;

  [[nodiscard]] size_t snapshots() const { return snapshots_.size(); }
  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// Returns one line for each unusable file, with the file's name and the remedy.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  /// A snapshot that can't be used. The problem is valid while the stamps and the trusted keys stay
  /// the same.
  struct Unusable {
    std::string path;
    std::shared_ptr<const TrustList> trusted;
    std::vector<ContentStamp> stamps;
    std::string problem;
  };
  void Add(const std::string& path, const Rules& rules, const Shelf* before);
  void AddUnusable(const std::string& path, const Rules& rules, std::string problem);

  std::vector<std::shared_ptr<const SignedSnapshot>> snapshots_;
  uint64_t entries_ = 0;
  std::vector<Unusable> unusable_;
  std::vector<std::string> problems_;
};

/// If both entries are manifests, returns a manifest with the closures of both. Otherwise returns
/// the first entry that is not empty.
[[nodiscard]] SharedEntry Merged(const SharedEntry& one, const SharedEntry& other);

}  // namespace cccl_cache::daemon
