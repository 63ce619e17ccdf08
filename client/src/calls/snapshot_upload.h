// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/calls/snapshot_download.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"

namespace cccl_cache {

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
