// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/connection.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// A long call on its own connection: see Connection::Turn.
struct OpenCall {
  std::unique_ptr<Call> call;
  std::unique_ptr<Connection> connection;  ///< last, because it refers to the call
};

/// Calls to the daemon at one socket, over connections that are made when needed. Every call is
/// safe to retry, so a lost, refused or stale connection delays a call but does not fail it.
/// Thread-safe.
class Channel {
 public:
  /// If `socket` is an error, every call fails with it. `patience`: as in Connection::Open.
  Channel(Expected<std::string> socket, std::chrono::milliseconds patience)
      : no_socket_(socket.ok() ? std::nullopt : std::optional(socket.error())),
        socket_(socket.ok() ? *std::move(socket) : std::string()),
        patience_(patience) {}

  /// Runs a call. Returns Done, or the error of the server's status.
  Expected<Done> Invoke(std::string_view path, const ByteChain& body, MessageSink* sink,
                        Deadline deadline, MessageSource* source = nullptr);

  /// Opens a call that may continue. Returns it after the body is sent and `settled` is true for
  /// the received messages. Returns without it if the call has succeeded already. The call is also
  /// retried if the daemon said that it stops.
  Expected<OpenCall> Open(std::string_view path, const ByteChain& body, MessageSink* sink,
                          MessageSource* source, Deadline deadline,
                          const std::function<bool()>& settled);
  /// A connection for a caller that runs a call itself, and whether the connection was idle and may
  /// be stale.
  struct Taken {
    std::unique_ptr<Connection> connection;
    bool reused = false;
  };
  Expected<Taken> Take();
  /// Returns the connection to the pool if it is reusable.
  void Give(std::unique_ptr<Connection> connection);
  /// Drops the idle connections. Called after a connection was lost, because they are stale too.
  void Forget() { pool_.Clear(); }

  /// Empty if there is no socket.
  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  const std::optional<Error> no_socket_;
  const std::string socket_;
  const std::chrono::milliseconds patience_;
  ConnectionPool pool_;
};

}  // namespace cccl_cache
