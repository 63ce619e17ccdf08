// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "proto/digest.h"
#include "proto/snapshot.h"

namespace cccl_cache {

/// Makes a snapshot from front to back; holds no more of it than its index. Equal records give
/// equal bytes. Not thread-safe.
class SnapshotWriter {
 public:
  /// Takes the next bytes. False: nobody wants more, the snapshot is abandoned.
  using Sink = std::function<bool(std::string_view)>;

  explicit SnapshotWriter(Sink sink) : sink_(std::move(sink)) {}

  /// Items in SnapshotOrder, each once; their stored_bytes and sha256 are filled in here. At most
  /// kMostSnapshotRecords.
  [[nodiscard]] bool Add(SnapshotItem item, std::string_view stored);
  /// Once, at the end.
  [[nodiscard]] bool Finish();

  [[nodiscard]] uint32_t count() const { return tail_.count; }
  [[nodiscard]] uint64_t written() const { return written_; }

 private:
  bool Put(std::string_view bytes);

  const Sink sink_;
  Hasher hasher_;
  std::string index_;
  SnapshotItem last_;
  SnapshotTail tail_;
  uint64_t written_ = 0;
};

}  // namespace cccl_cache
