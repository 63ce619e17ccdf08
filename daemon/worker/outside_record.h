// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/core/compiler.h"

namespace cccl_cached {

/// The names outside the toolchain that one job asked for: the first kMaxOutsideFiles of them, and
/// of each the weightiest answer that it got (given, denied, absent). Not thread-safe.
class OutsideRecord {
 public:
  /// Once it is full, a file that was given still takes the place of a name that was not: it
  /// decides whether the result may be kept.
  void Add(const std::string& path, OutsideFile::Answer answer);

  [[nodiscard]] const std::vector<OutsideFile>& files() const { return files_; }

 private:
  std::vector<OutsideFile> files_;
};

}  // namespace cccl_cached
