// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "daemon/core/requester_files.h"

namespace cccl_cached {

/// The files of a requester whose paths mean something else to the daemon, or may: all that the
/// daemon knows of them is that only the client can tell.
class FilesElsewhere final : public RequesterFiles {
 public:
  /// `why`: the cause, for the client.
  explicit FilesElsewhere(std::string why) : why_(std::move(why)) {}

  Result<SeenFile> Look(const FileName&) override { return Error{ErrorCode::kFilesNeeded, why_}; }
  Result<Contents> Read(const FileName&) override { return Error{ErrorCode::kFilesNeeded, why_}; }

 private:
  const std::string why_;
};

}  // namespace cccl_cached
