// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/call.h"

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

}  // namespace cccl_cache
