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

/// Selects the entries of a snapshot (a file with cached results) from the builds of which users
/// got results. An empty field excludes nothing.
struct SnapshotFilter {
  std::string toolchain;  ///< a major version ("13"), a version ("13.0"), or the beginning of a
                          ///< toolchain's id
  std::string arch;
  std::optional<std::chrono::sys_seconds> since;  ///< only builds that were last answered at this
                                                  ///< time or later
  std::optional<std::chrono::sys_seconds> until;  ///< only builds that were last answered before
                                                  ///< this time
  std::string name_space;                         ///< only deposits in this namespace
  /// The users whose builds are exported. Empty for the caller alone. Only an administrator may
  /// name other users.
  std::vector<uid_t> uids;
  bool all_users = false;
  std::vector<Digest> known;  ///< keys to leave out; ascending
  bool only_wanted = false;
  /// If `only_wanted`: only these entries are selected. Keys of builds and deposits, or identities
  /// of deposits; ascending, without duplicates.
  std::vector<Digest> wanted;
};

struct SnapshotSummary {
  uint64_t records = 0;  ///< number of records that were written to the snapshot, or stored from it
  uint64_t bytes = 0;    ///< size of the written snapshot, or of the stored records after
                         ///< decompression
  uint64_t left_out = 0;
  bool shared = false;  ///< whether the records were stored for all users
  bool only_wanted = false;
};

/// A caller that requests or sends a snapshot.
struct SnapshotCaller {
  Peer peer;
  /// Reserves `bytes` of memory for this caller, instead of those reserved before. Returns
  /// kOverloaded if not enough memory is free.
  std::function<Status(uint64_t bytes)> hold;
  std::stop_token left;  ///< a stop is requested when the caller has left
};

/// A snapshot that a caller sends. If the object is destroyed before Finish, nothing is stored. All
/// functions may block as long as the disk does. Used by one thread at a time.
class IncomingSnapshot {
 public:
  virtual ~IncomingSnapshot() = default;

  virtual Status Append(std::string_view bytes) = 0;
  /// Verifies the whole snapshot and then stores its records. Returns kInvalidRequest with the
  /// reason, and stores nothing, if any part is invalid.
  virtual Result<SnapshotSummary> Finish() = 0;
};

/// Creates snapshots from the builds of which users got results, and stores received snapshots. All
/// functions may block as long as the disk does. Thread-safe.
class Snapshots {
 public:
  /// Receives the next bytes of the snapshot. If it returns an error, Create ends with this error.
  using Sink = std::function<Status(std::string_view)>;

  virtual ~Snapshots() = default;

  /// Creates a snapshot. Returns kDenied if a caller who is no administrator names other users, or
  /// if the caller has the overflow uid.
  virtual Result<SnapshotSummary> Create(const SnapshotCaller& caller, const SnapshotFilter& filter,
                                         const Sink& sink) = 0;
  /// Begins to receive a snapshot. The records of a snapshot from root or from the daemon's own uid
  /// are stored for all users, other records only for their sender. Returns kOverloaded if another
  /// snapshot of this user waits already, and kDenied if the caller has the overflow uid.
  virtual Result<std::unique_ptr<IncomingSnapshot>> Receive(SnapshotCaller caller) = 0;
};

}  // namespace cccl_cache::daemon
