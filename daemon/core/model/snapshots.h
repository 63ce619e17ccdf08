// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Selects entries for a snapshot from a user's answered builds. Empty fields select everything.
struct SnapshotFilter {
  std::string toolchain;  ///< a major version, a version, or the beginning of an id
  std::string arch;
  std::optional<std::chrono::sys_seconds> since;  ///< last answered at this time or later
  std::optional<std::chrono::sys_seconds> until;  ///< last answered before this time
  std::string name_space;                         ///< namespace of deposits
  /// Users whose builds are exported. Only an administrator may name other users. Empty for the
  /// caller.
  std::vector<uid_t> uids;
  bool all_users = false;
  std::vector<Digest> known;  ///< keys to leave out; ascending
  bool only_wanted = false;
  /// The only keys of builds and deposits, or identities of deposits, to choose from; ascending and
  /// unique.
  std::vector<Digest> wanted;
};

struct SnapshotSummary {
  uint64_t records = 0;  ///< records that were written to the file, or kept from it
  uint64_t bytes = 0;    ///< of the written file, or of the kept records, decompressed
  uint64_t left_out = 0;
  bool shared = false;  ///< kept for all users
  bool only_wanted = false;
};

/// A caller that requests or sends a snapshot.
struct SnapshotCaller {
  Peer peer;
  /// Replaces the bytes of memory that are reserved for this caller. kOverloaded: not enough memory
  /// is free.
  std::function<Status(uint64_t bytes)> hold;
  std::stop_token left;  ///< stopped when the caller has left
};

/// A snapshot in reception. Blocks as long as the disk does. Used by one thread at a time. Without
/// Finish, nothing is kept.
class IncomingSnapshot {
 public:
  virtual ~IncomingSnapshot() = default;

  virtual Status Append(std::string_view bytes) = 0;
  /// Verifies the whole snapshot, then keeps its records. kInvalidRequest: the whole snapshot is
  /// refused, and the message has the reason.
  virtual Result<SnapshotSummary> Finish() = 0;
};

/// Makes and receives snapshots of users' answered builds. Thread-safe. Every call blocks as long
/// as the disk does.
class Snapshots {
 public:
  /// Takes the next bytes of the snapshot file. An error ends Create.
  using Sink = std::function<Status(std::string_view)>;

  virtual ~Snapshots() = default;

  /// kDenied: only an administrator may export others' entries, and the overflow uid has no
  /// entries.
  virtual Result<SnapshotSummary> Create(const SnapshotCaller& caller, const SnapshotFilter& filter,
                                         const Sink& sink) = 0;
  /// Starts to receive a snapshot. A snapshot from root or the daemon's own uid is kept for all
  /// users, any other for its sender alone. kOverloaded: another snapshot of this user is waiting.
  /// kDenied: the overflow uid has no entries of its own.
  virtual Result<std::unique_ptr<IncomingSnapshot>> Receive(SnapshotCaller caller) = 0;
};

}  // namespace cccl_cache::daemon
