// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// The summary of a snapshot; see cccl_cache_snapshot_summary.
struct SnapshotSummary {
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t left_out = 0;
  bool shared = false;
  bool only_wanted = false;  ///< whether the filter restricted the snapshot to the wanted keys;
                             ///< false from a daemon that does not know this
};

/// Decodes a cccl_cache.v1.SnapshotSummary. Returns none if it is malformed.
[[nodiscard]] std::optional<SnapshotSummary> DecodeSnapshotSummary(std::string_view bytes);

/// The reply of the RPC Snapshot.Create. The contents of the snapshot are written to a file as they
/// arrive. A summary follows. Not thread-safe.
class SnapshotDownload final : public MessageSink {
 public:
  /// The snapshot is written to `fd` from its current offset. The descriptor is not owned.
  explicit SnapshotDownload(int fd);

  void Restart() override;
  bool Take(Message message) override;

  /// Returns the summary, or the error of a write. Call it after the call has succeeded, or if
  /// failure() is set.
  [[nodiscard]] Expected<SnapshotSummary> Result() const;
  /// Returns the error because of which the client ended the call. None: it did not.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  bool Write(std::string_view bytes);

  const int fd_;
  const off_t start_;  ///< offset of the snapshot in the file; negative: the file can't seek
  bool wrote_ = false;
  std::optional<SnapshotSummary> summary_;
  std::optional<Error> failure_;
};

/// Chooses the entries of a snapshot; see cccl_cache_snapshot_filter.
struct SnapshotChoice {
  std::string_view toolchain;
  std::string_view arch;
  std::string_view name_space;
  uint64_t since_s = 0;
  uint64_t until_s = 0;
  std::span<const uint32_t> uids;
  bool all_users = false;
  bool only_wanted = false;
};

/// Keys for a snapshot. Each view is a sequence of keys of 32 bytes each, without separators.
struct SnapshotKeys {
  std::string_view known;   ///< keys of entries to leave out
  std::string_view wanted;  ///< if only_wanted is set, the keys of the only entries to include
};

/// Makes the daemon create a snapshot and writes it to `fd` from its current offset.
[[nodiscard]] Expected<SnapshotSummary> CreateSnapshot(Channel* channel,
                                                       const SnapshotChoice& filter,
                                                       SnapshotKeys keys, int fd,
                                                       Deadline deadline);

/// Sends the snapshot in `fd`, a regular file of `size` bytes, to the daemon, which inserts it.
[[nodiscard]] Expected<SnapshotSummary> InsertSnapshot(Channel* channel, int fd, uint64_t size,
                                                       Deadline deadline);

/// The messages of a call of the RPC Snapshot.Insert. It reads the file only when the connection
/// can send more. Not thread-safe.
class SnapshotUpload final : public MessageSource, public MessageSink {
 public:
  /// `fd` is a regular file of `size` bytes. It is not owned.
  SnapshotUpload(int fd, uint64_t size) : fd_(fd), size_(size) {}

  const ByteChain* Next() override;
  void Restart() override;
  bool Take(Message message) override;

  /// Returns the summary. Call it after the call has succeeded.
  [[nodiscard]] Expected<SnapshotSummary> Result() const;
  /// Returns the error of a read of the file. The daemon refuses the incomplete file then. None:
  /// there was no error.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  const int fd_;
  const uint64_t size_;
  uint64_t sent_ = 0;
  bool last_sent_ = false;
  std::vector<char> piece_;
  ByteChain message_;
  std::optional<SnapshotSummary> summary_;
  std::optional<Error> failure_;
};

}  // namespace cccl_cache
