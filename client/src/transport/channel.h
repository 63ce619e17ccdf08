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

/// A call that continues after Channel::Open, on its own connection. The owner advances it with
/// Connection::Turn.
struct OpenCall {
  std::unique_ptr<Call> call;
  std::unique_ptr<Connection> connection;  ///< destroyed first, because it refers to the call
};

/// Makes calls to the daemon at one socket. Connections are opened when they are needed, and kept
/// for later calls. A call is retried if its connection was lost, refused or stale, because all
/// calls may be repeated. Thread-safe.
class Channel {
 public:
  /// `socket`: the path, or an error, which all calls then return. `patience`: see
  /// Connection::Open.
  Channel(Expected<std::string> socket, std::chrono::milliseconds patience)
      : no_socket_(socket.ok() ? std::nullopt : std::optional(socket.error())),
        socket_(socket.ok() ? *std::move(socket) : std::string()),
        patience_(patience) {}

  /// Makes a call. Returns Done if it succeeded, otherwise the error of the server or the
  /// transport.
  Expected<Done> Invoke(std::string_view path, const ByteChain& body, MessageSink* sink,
                        Deadline deadline, MessageSource* source = nullptr);

  /// Starts a call that may last long, such as one that holds a lease. Waits until the body is sent
  /// and `settled` returns true, which depends on the messages that `sink` has received. Returns
  /// the call, or an empty OpenCall if it has already succeeded. Retries the call also if the
  /// daemon said that it stops. The deadline applies to this function only.
  Expected<OpenCall> Open(std::string_view path, const ByteChain& body, MessageSink* sink,
                          MessageSource* source, Deadline deadline,
                          const std::function<bool()>& settled);
  /// A connection for a caller that runs a call itself. `reused`: the connection was idle, so the
  /// daemon may have closed it.
  struct Taken {
    std::unique_ptr<Connection> connection;
    bool reused = false;
  };
  Expected<Taken> Take();
  /// Keeps the connection for later calls if it is reusable. Otherwise closes it.
  void Give(std::unique_ptr<Connection> connection);
  /// Closes the idle connections. Called after a connection was lost, because the others are
  /// probably lost too.
  void Forget() { pool_.Clear(); }

  /// Returns the path of the socket. Empty: the constructor got an error.
  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  const std::optional<Error> no_socket_;
  const std::string socket_;
  const std::chrono::milliseconds patience_;
  ConnectionPool pool_;
};

}  // namespace cccl_cache
