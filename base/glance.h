// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache {

/// Looks at a socket for a moment before its thread sleeps: an answer from the daemon's memory, or
/// a file from its disk cache, comes sooner than an idle processor wakes. Looks that find nothing
/// are skipped for a while, with exponential backoff: a thread that waits for compiles, or for a
/// processor, sleeps at once. Not thread-safe.
class Glance {
 public:
  /// Returns whether there is something to read. False: the caller should sleep.
  [[nodiscard]] bool SeesReadable(int socket);

 private:
  unsigned in_vain_ = 0;  ///< looks in a row
  unsigned left_out_ = 0;
};

}  // namespace cccl_cache
