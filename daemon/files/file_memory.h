// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "daemon/files/absent_names.h"
#include "daemon/files/digest_memory.h"

namespace cccl_cached {

/// What is remembered of requesters' files from one build to the next. Thread-safe.
struct FileMemory {
  /// `max_files`: of each; some 200 bytes a file.
  explicit FileMemory(size_t max_files) : digests(max_files), absent(max_files) {}

  DigestMemory digests;
  AbsentNames absent;
};

}  // namespace cccl_cached
