// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/compiler.h"

namespace cccl_cache::daemon {

/// Answers questions about files from a table in memory. Thread-safe; files are added before the
/// job starts.
class FakeJobFiles final : public JobFiles {
 public:
  /// Adds a file and its directories. A file with the identity of another file is a hard link to
  /// it.
  uint64_t AddFile(const std::string& name, std::string contents, uint64_t identity = 0);
  void AddDirectory(const std::string& name);
  void Refuse(const std::string& name, Error error) { errors_[name] = std::move(error); }
  /// Makes a question for this name wait for Release().
  void HangAt(const std::string& name) { hanging_ = name; }

  void Release();
  /// Waits until a question for this name waits. Returns false after a minute.
  [[nodiscard]] bool WaitUntilHanging();
  [[nodiscard]] std::vector<std::string> asked() const;

  Result<FileAnswer> Ask(std::string_view name) override;
  Status LookInToolchain(std::string_view name) override;
  /// Returns the names passed to LookInToolchain().
  [[nodiscard]] std::vector<std::string> looked_in_toolchain() const;

 private:
  std::map<std::string, FileAnswer> answers_;
  std::map<std::string, Error> errors_;
  std::optional<std::string> hanging_;
  uint64_t last_identity_ = 100;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> asked_;  ///< guarded by mutex_, like all members below
  std::vector<std::string> looked_in_toolchain_;
  bool hangs_ = false;
  bool released_ = false;
};

}  // namespace cccl_cache::daemon
