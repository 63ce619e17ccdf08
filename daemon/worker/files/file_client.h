// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/glance.h"
#include "daemon/core/model/compiler.h"

namespace cccl_cache::daemon {

/// The worker's end of the files socket (packet.h): asks the daemon, once for each name, and
/// keeps what it was told for the rest of the job. Not thread-safe. If the daemon is gone or not to
/// be understood the process ends: a compile that goes on without an answer would be a wrong one.
class FileClient {
 public:
  /// `socket`: not owned.
  explicit FileClient(int socket) : socket_(socket) {}
  FileClient(const FileClient&) = delete;
  FileClient& operator=(const FileClient&) = delete;

  /// `name`: absolute, as the compiler sees it, without "." and "//". One that can't be asked for
  /// is absent. The answer lives as long as this.
  [[nodiscard]] const FileAnswer& Ask(const std::string& name);
  /// Announces a look into the toolchain's own directories. False: it can't be told, so it must not
  /// be done.
  [[nodiscard]] bool LookInToolchain(std::string_view name);

 private:
  [[nodiscard]] FileAnswer AskDaemon(std::string_view name);
  /// One packet; at least one byte.
  [[nodiscard]] size_t Receive(char* buffer, size_t size);

  const int socket_;
  Glance glance_;
  std::unique_ptr<char[]> packet_;  ///< room for the first packet of an answer
  std::unordered_map<std::string, FileAnswer> answers_;
  std::unordered_set<std::string> announced_;
};

}  // namespace cccl_cache::daemon
