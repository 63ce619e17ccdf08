// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/poll.h"
#include "daemon/core/model/compiler.h"

namespace cccl_cache::daemon {

/// The worker's end of the files socket (packet.h). It asks the daemon once for each name, and
/// keeps the answers until the end of the job. Not thread-safe. If the daemon is gone or an answer
/// is malformed, the process ends: a compile without the answer would be wrong.
class FileClient {
 public:
  /// `socket`: not owned.
  explicit FileClient(int socket) : socket_(socket) {}
  FileClient(const FileClient&) = delete;
  FileClient& operator=(const FileClient&) = delete;

  /// Returns the daemon's answer, valid as long as this object. `name`: absolute, as the compiler
  /// sees it, without "." and "//". A name that is no valid question is absent.
  [[nodiscard]] const FileAnswer& Ask(const std::string& name);
  /// Tells the daemon that a file of the toolchain's own directories is looked up. Returns false if
  /// the daemon can't be told; then do not look it up.
  [[nodiscard]] bool LookInToolchain(std::string_view name);

 private:
  [[nodiscard]] FileAnswer AskDaemon(std::string_view name);
  /// Receives one packet of at least one byte.
  [[nodiscard]] size_t Receive(char* buffer, size_t size);

  const int socket_;
  Glance glance_;
  std::unique_ptr<char[]> packet_;  ///< room for the first packet of an answer
  std::unordered_map<std::string, FileAnswer> answers_;
  std::unordered_set<std::string> announced_;
};

}  // namespace cccl_cache::daemon
