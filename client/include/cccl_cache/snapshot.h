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

/// Selects the entries of this user that go into a snapshot. A field that is empty or not set does
/// not restrict the selection.
struct SnapshotFilter {
  std::string toolchain;  ///< "13" (a major version), "12.9" (a version), or the beginning of a
                          ///< toolchain id
  std::string arch;       ///< "sm_90"
  std::optional<std::chrono::sys_seconds>
      since;  ///< only entries that were last returned (deposits: used) at or after this time
  std::optional<std::chrono::sys_seconds> until;  ///< only entries that were last returned
                                                  ///< (deposits: used) before this time
  std::string name_space;      ///< only deposits with this name space, and no artifacts
  std::vector<uint32_t> uids;  ///< the entries of these users; only for administrators
  bool all_users = false;      ///< the entries of all users; only for administrators
  /// Only entries with these keys, in hexadecimal. The keys are those of build results, leases and
  /// deposits.
  std::optional<std::vector<std::string>> keys;
};

/// Converts the filter to the struct of the C interface. The struct is valid as long as the filter
/// and `keys`, into which this function writes.
inline cccl_cache_snapshot_filter Narrowed(const SnapshotFilter& filter,
                                           std::vector<cccl_cache_bytes>* keys) {
  // In the struct, 0 means no limit. Times before 1970 become 1: no entry is older.
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

/// Calls a function of the C interface that fills a summary, and returns the summary or the error.
template <typename Function>
Expected<cccl_cache_snapshot_summary> SummaryOf(Function function) {
  cccl_cache_snapshot_summary summary = {};
  summary.struct_size = sizeof(summary);
  cccl_cache_error* error = nullptr;
  if (function(&summary, &error) != CCCL_CACHE_OK) return TakeError(error);
  return summary;
}

/// The functions of a client for snapshots. It is valid as long as the client. The functions do not
/// close the descriptors.
class Snapshots {
 public:
  using Summary = cccl_cache_snapshot_summary;

  explicit Snapshots(cccl_cache_client* client) : client_(client) {}

  /// Writes a snapshot of this user's entries to `fd`, beginning at its current offset.
  Expected<Summary> Create(int fd, const SnapshotFilter& filter = {},
                           std::chrono::milliseconds timeout = {}) {
    std::vector<cccl_cache_bytes> keys;
    const cccl_cache_snapshot_filter narrowed = Narrowed(filter, &keys);
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_create(client_, fd, &narrowed, c::Milliseconds(timeout), rest...);
    });
  }
  /// Like Create, but leaves out the entries that another snapshot already has. `since_fd` is a
  /// regular file with that snapshot.
  Expected<Summary> Delta(int since_fd, int fd, const SnapshotFilter& filter = {},
                          std::chrono::milliseconds timeout = {}) {
    std::vector<cccl_cache_bytes> keys;
    const cccl_cache_snapshot_filter narrowed = Narrowed(filter, &keys);
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_delta(client_, since_fd, fd, &narrowed, c::Milliseconds(timeout),
                                       rest...);
    });
  }
  /// Inserts the snapshot in a regular file into the daemon's cache. If the caller is an
  /// administrator (root, the daemon's user, a member of `admin_group`), all users get its entries,
  /// otherwise only this user. The daemon refuses the
  /// whole file if a part of it is invalid.
  Expected<Summary> Insert(int fd, std::chrono::milliseconds timeout = {}) {
    return SummaryOf([&](auto... rest) {
      return cccl_cache_snapshot_insert(client_, fd, c::Milliseconds(timeout), rest...);
    });
  }

 private:
  cccl_cache_client* client_;
};

/// A function that receives an item, which is valid during the call. It returns false to stop.
using SnapshotVisit = std::function<bool(const cccl_cache_snapshot_item&)>;

/// Calls `visit` for each item of the snapshot in a regular file. Reads only the index of the file.
/// Works without a daemon.
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

/// Verifies all checksums of the snapshot in a regular file. Works without a daemon.
inline Expected<cccl_cache_snapshot_summary> VerifySnapshot(int fd) {
  return SummaryOf([fd](auto... rest) { return cccl_cache_snapshot_verify(fd, rest...); });
}

}  // namespace cccl_cache
