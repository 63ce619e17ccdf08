// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cccl_cache/c/snapshot.h"
#include "cccl_cache/c_structs.h"
#include "cccl_cache/expected.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// What of all that this user was answered goes into a snapshot. What is empty narrows nothing.
struct SnapshotFilter {
  std::string toolchain;  ///< a major ("13"), a version ("12.9"), the beginning of an id
  std::string arch;       ///< "sm_90"
  std::optional<std::chrono::sys_seconds> since;  ///< last answered then or later
  std::optional<std::chrono::sys_seconds> until;  ///< last answered before
  std::string name_space;                         ///< of deposits: then no artifacts
  std::vector<uint32_t> uids;  ///< root and the daemon's user alone: what these were answered
  bool all_users = false;      ///< the same: what anybody was answered
};

/// As the C interface takes it; valid as long as the filter.
inline cccl_cache_snapshot_filter Narrowed(const SnapshotFilter& filter) {
  // 0 stands for none, and nothing was answered before 1970.
  const auto seconds = [](const std::optional<std::chrono::sys_seconds>& time) {
    return time ? static_cast<uint64_t>(std::max<int64_t>(time->time_since_epoch().count(), 1)) : 0;
  };
  cccl_cache_snapshot_filter narrowed = {};
  narrowed.struct_size = sizeof(narrowed);
  narrowed.toolchain = Bytes(filter.toolchain);
  narrowed.arch = Bytes(filter.arch);
  narrowed.since = seconds(filter.since);
  narrowed.until = seconds(filter.until);
  narrowed.name_space = Bytes(filter.name_space);
  narrowed.uids = filter.uids.data();
  narrowed.uid_count = filter.uids.size();
  narrowed.all_users = filter.all_users ? 1 : 0;
  return narrowed;
}

/// What a call of the C interface says that it did.
template <typename Function>
Expected<cccl_cache_snapshot_summary> SummaryOf(Function function) {
  cccl_cache_snapshot_summary summary = {};
  summary.struct_size = sizeof(summary);
  cccl_cache_error* error = nullptr;
  if (function(&summary, &error) != CCCL_CACHE_OK) return TakeError(error);
  return summary;
}

/// A client's calls about files of what was compiled, valid as long as the client. Descriptors stay
/// the caller's.
class Snapshots {
 public:
  using Summary = cccl_cache_snapshot_summary;

  explicit Snapshots(cccl_cache_client* client) : client_(client) {}

  /// Writes what this user was answered to a descriptor, from its position on.
  Expected<Summary> Create(int fd, const SnapshotFilter& filter = {},
                           std::chrono::milliseconds timeout = {}) {
    const cccl_cache_snapshot_filter narrowed = Narrowed(filter);
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_create(client_, fd, &narrowed, c::Milliseconds(timeout), rest...);
    });
  }
  /// The same without what the snapshot in `since_fd`, a regular file, holds already.
  Expected<Summary> Delta(int since_fd, int fd, const SnapshotFilter& filter = {},
                          std::chrono::milliseconds timeout = {}) {
    const cccl_cache_snapshot_filter narrowed = Narrowed(filter);
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_delta(client_, since_fd, fd, &narrowed, c::Milliseconds(timeout),
                                       rest...);
    });
  }
  /// Hands the snapshot in a regular file to the daemon: for everybody if this is root or the
  /// daemon's user, else for this user alone. All of it is kept, or it is refused.
  Expected<Summary> Insert(int fd, std::chrono::milliseconds timeout = {}) {
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_insert(client_, fd, c::Milliseconds(timeout), rest...);
    });
  }

 private:
  cccl_cache_client* client_;
};

/// Sees an item, valid during the call. False ends the list.
using SnapshotVisit = std::function<bool(const cccl_cache_snapshot_item&)>;

/// The items of a snapshot in a regular file. Reads its index alone; asks no daemon.
inline Expected<Done> ListSnapshot(int fd, const SnapshotVisit& visit) {
  const auto each = [](const cccl_cache_snapshot_item* item, void* context) {
    return (*static_cast<const SnapshotVisit*>(context))(*item) ? 0 : 1;
  };
  cccl_cache_error* error = nullptr;
  if (cccl_cache_snapshot_list(fd, each, const_cast<SnapshotVisit*>(&visit), &error) !=
      CCCL_CACHE_OK) {
    return TakeError(error);
  }
  return Done{};
}

/// Whether every byte of a snapshot in a regular file is as it was written. Asks no daemon.
inline Expected<cccl_cache_snapshot_summary> VerifySnapshot(int fd) {
  return SummaryOf([fd](auto... rest) { return cccl_cache_snapshot_verify(fd, rest...); });
}

}  // namespace cccl_cache
