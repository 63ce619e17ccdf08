// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cccl_cache/v1/snapshot.pb-c.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// What a snapshot came to.
struct SnapshotSummary {
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t left_out = 0;
  bool shared = false;
};

/// Of a cccl_cache.v1.SnapshotSummary. None: malformed.
[[nodiscard]] std::optional<SnapshotSummary> DecodeSnapshotSummary(std::string_view bytes);

/// The answer of Snapshot.Create: a file, written as it comes, and a summary. Not thread-safe.
class SnapshotDownload final : public MessageSink {
 public:
  /// Written from the descriptor's position on.
  explicit SnapshotDownload(int fd);

  void Restart() override;
  bool Take(Message message) override;

  /// Once the call has ended well: what came, or why it could not be written.
  [[nodiscard]] Expected<SnapshotSummary> Result() const;
  /// Why the call was ended from here.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  bool Write(std::string_view bytes);

  const int fd_;
  const off_t start_;  ///< of the file; negative: it has no places to go back to
  bool wrote_ = false;
  std::optional<SnapshotSummary> summary_;
  std::optional<Error> failure_;
};

/// Asks the daemon for a snapshot and writes it to a descriptor. `known`: keys that are not wanted,
/// 32 bytes each. Both must outlive the call.
[[nodiscard]] Expected<SnapshotSummary> CreateSnapshot(Channel* channel,
                                                       CcclCache__V1__SnapshotFilter* filter,
                                                       std::string_view known, int fd,
                                                       Deadline deadline);

/// Sends the daemon the snapshot in a regular file of so many bytes.
[[nodiscard]] Expected<SnapshotSummary> InsertSnapshot(Channel* channel, int fd, uint64_t size,
                                                       Deadline deadline);

/// The file of Snapshot.Insert, read as the connection has room for it, and the answer. Not
/// thread-safe.
class SnapshotUpload final : public MessageSource, public MessageSink {
 public:
  /// A regular file of so many bytes.
  SnapshotUpload(int fd, uint64_t size) : fd_(fd), size_(size) {}

  const ByteChain* Next() override;
  void Restart() override;
  bool Take(Message message) override;

  /// Once the call has ended well.
  [[nodiscard]] Expected<SnapshotSummary> Result() const;
  /// Why the file could not be read to its end: the daemon was sent less, and refused it.
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
