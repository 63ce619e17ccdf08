// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/mutex.h"
#include "daemon/core/model/cluster.h"
#include "daemon/remote/redis/redis_servers.h"
#include "daemon/remote/signed_entry.h"
#include "daemon/remote/trust_list.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Returns whether an entry of this kind is a deposit, whole or in chunks.
[[nodiscard]] inline bool IsDeposit(EntryKind kind) {
  return kind == EntryKind::kDeposit || kind == EntryKind::kChunkList;
}
/// Returns whether the question asks for a deposit, and not for the result of a compile.
[[nodiscard]] inline bool IsDeposit(const Cluster::Question& question) {
  return IsDeposit(question.entries.front().kind);
}

/// The name of a lease, and the key whose server has it.
struct LeaseName {
  std::string place;
  std::string name;
};

/// The entries in Redis: the keys under which nodes find them, and which of them this node accepts.
/// Thread-safe.
///
/// Keys, each after the prefix: `a:KEY` an artifact, `m:KEY` a manifest, `d:KEY` a deposit of a
/// group, `c:KEY` the list of a larger one's chunks, `c:KEY:N` a chunk, `l:COMPILE` or `l:KEY` a
/// lease.
class RemoteEntries {
 public:
  struct Options {
    std::string prefix;
    uint64_t entry_limit = 0;          ///< in bytes; a larger entry is refused
    std::chrono::seconds lifetime{0};  ///< an entry that was signed longer ago is refused
  };

  /// `servers` is used by Fetch() only.
  RemoteEntries(Options options, std::shared_ptr<const TrustList> trusted, RedisServers& servers)
      : options_(std::move(options)), servers_(servers), trusted_(std::move(trusted)) {}

  [[nodiscard]] std::string NameOf(const EntryName& entry) const;
  /// Returns the key whose server has the entry. A deposit has one place for all its forms and its
  /// lease, because a script sees one server.
  [[nodiscard]] std::string PlaceOf(const EntryName& entry) const;
  /// Returns the lease on this compile, or on the deposit `entry`.
  [[nodiscard]] LeaseName LeaseOn(const Digest& compile, const EntryName& entry) const;

  /// Requests an entry from its server. Returns false, and never calls `then`, as
  /// RedisServers::Send.
  bool Fetch(const EntryName& entry, RedisServers::Then then);
  /// Returns the entry in a reply, which is not trusted, or why it is refused. Returns an empty
  /// entry if there is none.
  [[nodiscard]] std::variant<SharedEntry, EntryRefusal> Open(const EntryName& entry,
                                                             std::string_view reply) const;

  /// Replaces the trusted keys. An entry is used only if one of them has signed it.
  void Trust(std::shared_ptr<const TrustList> trusted);
  [[nodiscard]] std::shared_ptr<const TrustList> trusted() const;

 private:
  const Options options_;
  RedisServers& servers_;
  mutable Mutex mutex_;
  std::shared_ptr<const TrustList> trusted_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
