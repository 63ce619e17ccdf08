// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace cccl_cache::standin {

/// Facts that one run leaves for later runs of this user: the versions of tools, and that a daemon
/// hangs. One small file each, in $XDG_RUNTIME_DIR/cccl-cache, else in ~/.cache/cccl-cache/facts,
/// which nodes may share. Nothing is kept if others could write there. Safe for several processes:
/// a file is replaced as a whole.
///   file = sha256(value)(32) value
class UserFacts {
 public:
  /// Opens the directory, and makes it if there is none.
  UserFacts();

  /// Returns whether facts are kept.
  [[nodiscard]] bool kept() const { return directory_.valid(); }
  [[nodiscard]] std::optional<std::string> Get(const std::string& name) const;
  void Put(const std::string& name, std::string_view value) const;
  void Remove(const std::string& name) const;
  /// Returns how long ago the fact was put. Nothing: there is none, or its time is in the future.
  [[nodiscard]] std::optional<std::chrono::seconds> Age(const std::string& name) const;

 private:
  FileDescriptor directory_;
};

}  // namespace cccl_cache::standin
