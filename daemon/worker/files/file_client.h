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

/// Asks the daemon about files over the job's files socket (packet.h). It asks once per name and
/// keeps the answers until the end of the job. If the connection is lost or an answer is malformed,
/// the process exits, because a compile without the answer would be wrong. Not thread-safe.
class FileClient {
 public:
  /// `socket`: not owned.
  explicit FileClient(int socket) : socket_(socket) {}
  FileClient(const FileClient&) = delete;
  FileClient& operator=(const FileClient&) = delete;

  /// Returns the daemon's answer, which is valid as long as this object. `name` is the compiler's
  /// name of the file: absolute, without "." and "//". If the name is not valid (IsFileQuestion),
  /// the answer is "absent" and the daemon is not asked.
  [[nodiscard]] const FileAnswer& Ask(const std::string& name);
  /// Announces to the daemon that the worker will look up a name in the toolchain's own
  /// directories, so that the daemon records the name first. Returns false if the daemon has not
  /// recorded it. The worker must not look it up then.
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
