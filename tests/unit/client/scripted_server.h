// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

/// Listens on a Unix socket and runs a script on each connection in turn, for behaviour that a gRPC
/// server never has. The connection is closed when the script returns.
class ScriptedServer {
 public:
  using Script = std::function<void(int fd, int connection)>;

  ScriptedServer(const std::string& socket, Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] int connections() const { return connections_; }

  /// Sends all bytes, or gives up if the other end is gone.
  static void Say(int fd, const std::string& bytes);
  /// Reads until the other end closes.
  static void ReadToEnd(int fd);
  /// Returns one HTTP/2 frame.
  static std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                           const std::string& payload);

 private:
  void Accept();

  const Script script_;
  int listener_;
  std::atomic<int> connections_{0};
  std::thread thread_;
};
