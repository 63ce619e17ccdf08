// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/core/model/compiler.h"

namespace cccl_cache::daemon {

/// Answers one job's questions from real directories, which have other names in the job.
class DirectoryJobFiles final : public JobFiles {
 public:
  void Show(const std::string& visible, const std::string& directory) {
    directories_[visible] = directory;
  }

  Result<FileAnswer> Ask(std::string_view name) override;
  Status LookInToolchain(std::string_view /*name*/) override { return Ok{}; }

 private:
  [[nodiscard]] std::string PathOf(const std::string& name) const;

  std::map<std::string, std::string> directories_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> identities_;
};

}  // namespace cccl_cache::daemon
