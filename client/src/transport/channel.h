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

/// A call that goes on, on a connection of its own: see Connection::Turn.
struct OpenCall {
  std::unique_ptr<Call> call;
  std::unique_ptr<Connection> connection;  ///< last: it refers to the call
};

/// Calls to the daemon at one socket, over connections made as needed. Every call is safe to send
/// again, so a connection that was lost, refused or grew stale costs a call time, not its answer.
/// Thread-safe.
class Channel {
 public:
  /// An error is that of every call.
  explicit Channel(Expected<std::string> socket)
      : no_socket_(socket.ok() ? std::nullopt : std::optional(socket.error())),
        socket_(socket.ok() ? *std::move(socket) : std::string()) {}

  /// Returns once the server's status is there: Done, or what it said was wrong.
  Expected<Done> Invoke(std::string_view path, const ByteChain& body, MessageSink* sink,
                        Deadline deadline, MessageSource* source = nullptr);

  /// The same for a call that may go on: returns once `settled` holds after what has come and the
  /// body is sent, with the call, or once it has ended well, without. Sent again, also when the
  /// daemon said that it stops.
  Expected<OpenCall> Open(std::string_view path, const ByteChain& body, MessageSink* sink,
                          MessageSource* source, Deadline deadline,
                          const std::function<bool()>& settled);
  /// For who runs a call by itself: a connection, and whether it is one that was idle and may turn
  /// out to be stale.
  struct Taken {
    std::unique_ptr<Connection> connection;
    bool reused = false;
  };
  Expected<Taken> Take();
  /// Keeps it for the next call if that makes sense.
  void Give(std::unique_ptr<Connection> connection);
  /// A connection was lost: the idle ones are as stale.
  void Forget() { pool_.Clear(); }

  /// Empty if there is none.
  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  const std::optional<Error> no_socket_;
  const std::string socket_;
  ConnectionPool pool_;
};

}  // namespace cccl_cache
