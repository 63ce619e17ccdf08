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

#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What of all that a user was answered goes into a snapshot. Empty fields narrow nothing.
struct SnapshotFilter {
  std::string toolchain;  ///< a major, a version, or the beginning of an id
  std::string arch;
  std::optional<std::chrono::sys_seconds> since;  ///< last answered then or later
  std::optional<std::chrono::sys_seconds> until;  ///< last answered before
  std::string name_space;                         ///< of deposits
  std::vector<uid_t> uids;  ///< whose; others' for an administrator only. None: the caller's
  bool all_users = false;
  std::vector<Digest> known;  ///< left out; ascending
};

struct SnapshotSummary {
  uint64_t records = 0;  ///< in the file, or kept from it
  uint64_t bytes = 0;    ///< of the file; of what was kept, decompressed
  uint64_t left_out = 0;
  bool shared = false;  ///< kept for everybody
};

/// Who asks for a snapshot or sends one.
struct SnapshotCaller {
  Peer peer;
  /// From now on so many bytes of memory are taken for this caller, instead of as many as before.
  /// kOverloaded: they can't be had.
  std::function<Status(uint64_t bytes)> hold;
  std::stop_token left;  ///< stopped when the caller leaves
};

/// A snapshot that is being received. Blocks as long as the disk does. Used by one thread at a
/// time; without Finish nothing of it is kept.
class IncomingSnapshot {
 public:
  virtual ~IncomingSnapshot() = default;

  virtual Status Append(std::string_view bytes) = 0;
  /// Verifies all of it, then keeps what it holds. kInvalidRequest: it is refused as a whole, and
  /// the message says why.
  virtual Result<SnapshotSummary> Finish() = 0;
};

/// Makes snapshots of what users were answered. Thread-safe; all of it blocks as
/// long as the disk does.
class Snapshots {
 public:
  /// Takes the next bytes of a file; an error ends its making.
  using Sink = std::function<Status(std::string_view)>;

  virtual ~Snapshots() = default;

  /// kDenied: others' entries are an administrator's to export; there is nothing of an overflow
  /// uid's.
  virtual Result<SnapshotSummary> Create(const SnapshotCaller& caller, const SnapshotFilter& filter,
                                         const Sink& sink) = 0;
  /// What root and the daemon's own uid send is kept for everybody, what others send for
  /// themselves. kOverloaded: the user waits with another one already; kDenied: an overflow uid has
  /// nothing of its own.
  virtual Result<std::unique_ptr<IncomingSnapshot>> Receive(SnapshotCaller caller) = 0;
};

}  // namespace cccl_cache::daemon
