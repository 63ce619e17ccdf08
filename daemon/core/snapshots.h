// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/peer.h"
#include "daemon/core/result.h"
#include "proto/digest.h"

namespace cccl_cached {

/// What of all that a user was answered goes into a snapshot. Empty fields narrow nothing.
struct SnapshotFilter {
  std::string toolchain;  ///< a major, a version, or the beginning of an id
  std::string arch;
  std::optional<std::chrono::sys_seconds> since;  ///< last answered then or later
  std::optional<std::chrono::sys_seconds> until;  ///< last answered before
  std::string name_space;                         ///< of deposits
  std::vector<uid_t> uids;  ///< whose; others' for an administrator only. None: the caller's
  bool all_users = false;
  std::vector<cccl_cache::Digest> known;  ///< left out; ascending
};

struct SnapshotSummary {
  uint64_t records = 0;   ///< in the file
  uint64_t bytes = 0;     ///< of the file
  uint64_t left_out = 0;  ///< what the filter names and is not kept any more
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
  virtual Result<SnapshotSummary> Create(const Peer& peer, const SnapshotFilter& filter,
                                         const Sink& sink) = 0;
};

}  // namespace cccl_cached
