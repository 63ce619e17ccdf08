// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "daemon/files/absent_names.h"
#include "daemon/files/content_stamp.h"
#include "daemon/files/digest_memory.h"

namespace cccl_cache::daemon {

/// What is remembered of requesters' files from one build to the next. Thread-safe.
struct FileMemory {
  /// `max_files`: of each; some 200 bytes a file.
  explicit FileMemory(size_t max_files) : digests(max_files), absent(max_files) {}

  DigestMemory digests;
  AbsentNames absent;
  /// How old a file must be to be remembered; see KernelWriteBack.
  std::function<std::optional<int64_t>()> write_back = [] { return KernelWriteBack(); };
};

}  // namespace cccl_cache::daemon
