// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "base/files/verified_descriptor.h"
#include "base/owner_process.h"
#include "base/poll.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/http2_session.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// One connection to the daemon, which runs one call at a time. A forked child of the process that
/// opened it can only close it, and sends nothing. Sending never raises SIGPIPE. If the program has
/// closed the socket, or its descriptor number now belongs to another file, the connection counts
/// as lost and the descriptor is not used. Not thread-safe.
class Connection {
 public:
  /// Connects to the socket at `path`. `patience` is the longest time without received bytes after
  /// which the server gets a PING, and also the longest wait for the answer. CCCL_CACHE_NO_DAEMON:
  /// no daemon listens. CCCL_CACHE_OVERLOADED: the listen queue is full.
  static Expected<std::unique_ptr<Connection>> Open(
      const std::string& path, std::chrono::milliseconds patience = KeepAlive::kMax);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends the call and waits until it ends, until its deadline, or until the server does not
  /// answer a PING in time (KeepAlive).
  CallEnd Run(Call* call);

  // The parts of Run, for a bidirectional stream or for a caller that waits for several
  // connections: Start, then Turn or Advance any number of times, then Finish. Nothing is sent or
  // received between these calls.

  void Start(Call* call);
  /// The call waits from now on for an answer that is due within `left`. For a call that has waited
  /// for none; Start does the same.
  void Expect(std::chrono::milliseconds left) {
    keep_alive_ = KeepAlive(KeepAlive::Clock::now(), left, patience_);
  }
  /// Sends and receives what is possible. If there is nothing, waits for the socket, or until the
  /// descriptor `wake` is readable. If the reply ends, the call ends. Returns false if `until` has
  /// passed.
  bool Turn(Call* call, const Deadline& until, int wake = -1);
  /// Like Turn. If the server does not answer a PING in time, the call ends as kSilent.
  bool TurnOrDoubt(Call* call, const Deadline& until);
  /// Sends and receives without waiting, and ignores the call's deadline. Returns true if the call
  /// has ended. Otherwise the caller waits until the socket is readable, until it is writable if
  /// wants_to_write(), or until doubts_at(), and calls this again.
  bool Advance(Call* call);
  [[nodiscard]] KeepAlive::Clock::time_point doubts_at() const { return keep_alive_.until(); }
  /// The call now also waits for an answer that is due within `left`, so an unresponsive server
  /// must be detected sooner.
  void Hurry(std::chrono::milliseconds left) { keep_alive_.Hurry(KeepAlive::Clock::now(), left); }
  /// Returns the socket. -1: the program has closed it.
  [[nodiscard]] int socket() { return Socket(); }
  [[nodiscard]] bool wants_to_write() const { return unflushed_ > 0 && !broken_; }
  /// Ends the use of the connection by this call, which may not have ended.
  void Finish(Call* call);
  /// Returns whether all bytes to send were copied to the kernel. If so, the connection does not
  /// refer to the memory of the call.
  [[nodiscard]] bool flushed() const { return unflushed_ == 0; }

  /// Makes the next use of the socket verify that the program has not closed it. Call this when
  /// other code has run since the last use. Usable and Advance verify it themselves.
  void Recheck() { verified_ = false; }

  /// Returns whether this process opened the connection. In a forked child it returns false.
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }
  /// Returns whether the server accepts no more calls. It still finishes the calls that it has.
  [[nodiscard]] bool going_away() const { return session_.going_away(); }
  /// Returns whether the connection can be used for another call. It can't after the program has
  /// changed its user or group, because the daemon has the credentials from the connect.
  [[nodiscard]] bool Reusable() const {
    return !broken_ && !session_.going_away() && geteuid() == user_ && getegid() == group_;
  }
  /// Returns whether another call can be sent now. Reads the bytes that have arrived since the last
  /// call.
  [[nodiscard]] bool Usable();

 private:
  Connection(FileDescriptor socket, std::chrono::milliseconds patience);

  enum class Progress { kMade, kNone, kBroken };

  /// Sends bytes until there are no more or the socket is full. Returns false if the call has
  /// ended.
  bool Send(Call* call);
  /// Receives available bytes. If the connection has ended, the call ends.
  Progress ReceiveBytes(Call* call);
  /// If nothing was received for some time, sends a PING. If a PING was not answered in time, ends
  /// the call.
  void CheckKeepAlive(Call* call);
  /// Waits until the socket is ready or `wake` is readable. Returns false if the deadline has
  /// passed.
  bool Wait(const Deadline& deadline, int wake);
  /// Returns the socket. -1: the program has closed it. Verifies the descriptor if Recheck was
  /// called.
  int Socket();
  /// Sends bytes until there are no more or the socket is full. When all bytes are sent, asks
  /// `call` for more. `call` may be null.
  Progress Flush(Call* call);
  /// Receives available bytes. Bytes of a large message are received directly into its memory.
  Progress Receive(Call* call);
  [[nodiscard]] CallEnd EndOfConnection() const;

  const VerifiedDescriptor socket_;
  int number_;            ///< result of socket_.Get() at the last check
  bool verified_ = true;  ///< false after Recheck: the next use checks the socket
  const OwnerProcess owner_;
  const uid_t user_;
  const gid_t group_;
  const std::chrono::milliseconds patience_;
  Http2Session session_;
  ByteChain output_;
  ByteChain::Position flushed_;
  size_t unflushed_ = 0;
  bool broken_ = false;
  Glance glance_;
  KeepAlive keep_alive_;
  Progress progress_ = Progress::kNone;  ///< result of the last ReceiveBytes in Turn
  std::array<char, 16384> staging_;
};

/// The idle connections of a client. Thread-safe and lock-free: after a fork, the child can use it
/// even if a thread of the parent was using it. The child closes the connections of its parent.
class ConnectionPool {
 public:
  ConnectionPool() = default;
  ~ConnectionPool() { Clear(); }
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// Removes and returns a connection that can be used. Null: there is none. Closes connections
  /// that can't be used.
  std::unique_ptr<Connection> Take();
  /// Stores the connection for a later call. Closes it if there is no room.
  void Give(std::unique_ptr<Connection> connection);
  void Clear();

 private:
  std::array<std::atomic<Connection*>, 16> idle_{};
};

}  // namespace cccl_cache
