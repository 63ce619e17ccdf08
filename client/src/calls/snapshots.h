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
  bool only_wanted = false;  ///< whether the daemon knows this field of the filter, and the field
                             ///< was set
};

/// Decodes a cccl_cache.v1.SnapshotSummary. Returns none if it is malformed.
[[nodiscard]] std::optional<SnapshotSummary> DecodeSnapshotSummary(std::string_view bytes);

/// The reply of Snapshot.Create: the contents of a file, which are written as they arrive, and a
/// summary. Not thread-safe.
class SnapshotDownload final : public MessageSink {
 public:
  /// Writes from the present offset of the descriptor on.
  explicit SnapshotDownload(int fd);

  void Restart() override;
  bool Take(Message message) override;

  /// Valid after the call has succeeded. Returns the summary, or why the file could not be written.
  [[nodiscard]] Expected<SnapshotSummary> Result() const;
  /// Returns why this side ended the call.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  bool Write(std::string_view bytes);

  const int fd_;
  const off_t start_;  ///< start offset in the file; negative: the file can't seek
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

/// The keys in a request for a snapshot, 32 bytes each.
struct SnapshotKeys {
  std::string_view known;   ///< keys to leave out
  std::string_view wanted;  ///< the only keys to include, if the filter says so
};

/// Asks the daemon for a snapshot and writes it to a descriptor.
[[nodiscard]] Expected<SnapshotSummary> CreateSnapshot(Channel* channel,
                                                       const SnapshotChoice& filter,
                                                       SnapshotKeys keys, int fd,
                                                       Deadline deadline);

/// Sends the daemon the snapshot in a regular file of `size` bytes.
[[nodiscard]] Expected<SnapshotSummary> InsertSnapshot(Channel* channel, int fd, uint64_t size,
                                                       Deadline deadline);

/// The request and reply of Snapshot.Insert. It reads the file when the connection has room for it.
/// Not thread-safe.
class SnapshotUpload final : public MessageSource, public MessageSink {
 public:
  /// `fd` is a regular file of `size` bytes.
  SnapshotUpload(int fd, uint64_t size) : fd_(fd), size_(size) {}

  const ByteChain* Next() override;
  void Restart() override;
  bool Take(Message message) override;

  /// Valid after the call has succeeded.
  [[nodiscard]] Expected<SnapshotSummary> Result() const;
  /// Returns why the file could not be read to its end. The daemon then refused the incomplete
  /// file.
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
