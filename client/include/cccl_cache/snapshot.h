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

#include "cccl_cache/build.h"
#include "cccl_cache/c/snapshot.h"
#include "cccl_cache/expected.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// Selects which of this user's entries go into a snapshot. An empty field selects everything.
struct SnapshotFilter {
  std::string toolchain;  ///< a major ("13"), a version ("12.9"), the beginning of an id
  std::string arch;       ///< "sm_90"
  std::optional<std::chrono::sys_seconds>
      since;  ///< last answered (a deposit: used) at or after this
  std::optional<std::chrono::sys_seconds> until;  ///< last answered (a deposit: used) before this
  std::string name_space;      ///< only deposits of this name space, no artifacts
  std::vector<uint32_t> uids;  ///< the entries of these users; only for root and the daemon's user
  bool all_users = false;      ///< the entries of all users; only for the same two
  /// Only entries with these keys, hexadecimal: of results, leases and deposits.
  std::optional<std::vector<std::string>> keys;
};

/// Returns the struct of the C interface. Valid as long as the filter and `keys`.
inline cccl_cache_snapshot_filter Narrowed(const SnapshotFilter& filter,
                                           std::vector<cccl_cache_bytes>* keys) {
  // 0 stands for no limit, and no entry is older than 1970.
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
  narrowed.only_keys = filter.keys ? 1 : 0;
  if (filter.keys) {
    for (const std::string& key : *filter.keys) keys->push_back(Bytes(key));
  }
  narrowed.keys = keys->data();
  narrowed.key_count = keys->size();
  return narrowed;
}

/// Returns the summary that a call of the C interface fills in.
template <typename Function>
Expected<cccl_cache_snapshot_summary> SummaryOf(Function function) {
  cccl_cache_snapshot_summary summary = {};
  summary.struct_size = sizeof(summary);
  cccl_cache_error* error = nullptr;
  if (function(&summary, &error) != CCCL_CACHE_OK) return TakeError(error);
  return summary;
}

/// A client's calls about snapshots. Valid as long as the client. Descriptors stay the caller's.
class Snapshots {
 public:
  using Summary = cccl_cache_snapshot_summary;

  explicit Snapshots(cccl_cache_client* client) : client_(client) {}

  /// Writes a snapshot of this user's entries to a descriptor, from its position on.
  Expected<Summary> Create(int fd, const SnapshotFilter& filter = {},
                           std::chrono::milliseconds timeout = {}) {
    std::vector<cccl_cache_bytes> keys;
    const cccl_cache_snapshot_filter narrowed = Narrowed(filter, &keys);
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_create(client_, fd, &narrowed, c::Milliseconds(timeout), rest...);
    });
  }
  /// Like Create, without the entries that the snapshot in `since_fd`, a regular file, holds.
  Expected<Summary> Delta(int since_fd, int fd, const SnapshotFilter& filter = {},
                          std::chrono::milliseconds timeout = {}) {
    std::vector<cccl_cache_bytes> keys;
    const cccl_cache_snapshot_filter narrowed = Narrowed(filter, &keys);
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_delta(client_, since_fd, fd, &narrowed, c::Milliseconds(timeout),
                                       rest...);
    });
  }
  /// Inserts the snapshot in a regular file into the daemon's cache: for all users if the caller is
  /// root or the daemon's user, else for this user only. The daemon keeps all of it, or refuses it.
  Expected<Summary> Insert(int fd, std::chrono::milliseconds timeout = {}) {
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_insert(client_, fd, c::Milliseconds(timeout), rest...);
    });
  }

 private:
  cccl_cache_client* client_;
};

/// Receives an item, valid during the call. Returns false to stop.
using SnapshotVisit = std::function<bool(const cccl_cache_snapshot_item&)>;

/// Calls `visit` for each item of a snapshot in a regular file. Reads only its index. Needs no
/// daemon.
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

/// Verifies all checksums of a snapshot in a regular file. Needs no daemon.
inline Expected<cccl_cache_snapshot_summary> VerifySnapshot(int fd) {
  return SummaryOf([fd](auto... rest) { return cccl_cache_snapshot_verify(fd, rest...); });
}

}  // namespace cccl_cache
