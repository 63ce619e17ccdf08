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

/// One connection to the daemon, for one call at a time. It belongs to the process that opened it:
/// a forked child only closes it and sends nothing. Never raises SIGPIPE. If the program closed the
/// socket or gave its number to another file, the connection counts as lost, and the number is not
/// touched. Not thread-safe.
class Connection {
 public:
  /// CCCL_CACHE_NO_DAEMON: no daemon listens. CCCL_CACHE_OVERLOADED: the listen queue is full.
  /// `patience` is half of the time after which an unresponsive server is given up.
  static Expected<std::unique_ptr<Connection>> Open(
      const std::string& path, std::chrono::milliseconds patience = KeepAlive::kMax);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends the call and waits for its end, until its deadline or until the server counts as
  /// unresponsive (KeepAlive).
  CallEnd Run(Call* call);

  // The same in steps, for a bidirectional stream, or for a caller that waits for several
  // connections: Start, any number of turns or advances, Finish. Nothing is sent or received
  // between steps.

  void Start(Call* call);
  /// Waits, then sends pending bytes and receives available bytes. Ends the call if its end has
  /// arrived. Returns false if `until` has passed. Also returns when the descriptor `wake` is
  /// readable.
  bool Turn(Call* call, const Deadline& until, int wake = -1);
  /// Like Turn, and ends the call as kSilent if the server does not respond.
  bool TurnOrDoubt(Call* call, const Deadline& until);
  /// Advances the call as far as possible without waiting; ignores its deadline. Returns true if it
  /// has ended. Otherwise the caller waits until the socket is readable, until it is writable if
  /// there is more to send, or until doubts_at().
  bool Advance(Call* call);
  [[nodiscard]] KeepAlive::Clock::time_point doubts_at() const { return keep_alive_.until(); }
  /// Shortens the keep-alive, because the call now also waits for an answer that is due within
  /// `left`.
  void Hurry(std::chrono::milliseconds left) { keep_alive_.Hurry(KeepAlive::Clock::now(), left); }
  /// Returns the socket, or -1 if the program took its number.
  [[nodiscard]] int socket() { return Socket(); }
  [[nodiscard]] bool wants_to_write() const { return unflushed_ > 0 && !broken_; }
  /// Detaches the call, ended or not.
  void Finish(Call* call);
  /// Returns whether the kernel has all bytes, so that nothing refers to them.
  [[nodiscard]] bool flushed() const { return unflushed_ == 0; }

  /// Has the next use verify the socket, because the program has run since the last one. Not needed
  /// before Usable and Advance.
  void Recheck() { verified_ = false; }

  /// Returns whether this process opened the connection.
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }
  /// Returns whether the server takes no more calls. It finishes the calls that it has.
  [[nodiscard]] bool going_away() const { return session_.going_away(); }
  /// Returns whether the connection can be kept for another call. Not after the program changed its
  /// user, because the daemon uses the credentials of the connect.
  [[nodiscard]] bool Reusable() const {
    return !broken_ && !session_.going_away() && geteuid() == user_ && getegid() == group_;
  }
  /// Returns whether another call may be sent now. Reads the bytes that the server has sent
  /// meanwhile.
  [[nodiscard]] bool Usable();

 private:
  Connection(FileDescriptor socket, std::chrono::milliseconds patience);

  enum class Progress { kMade, kNone, kBroken };

  /// Sends pending bytes. Returns false if the call has ended.
  bool Send(Call* call);
  /// Receives available bytes. The end of the connection ends the call.
  Progress ReceiveBytes(Call* call);
  /// Sends a PING if the server was silent for long. Ends the call if a PING is unanswered.
  void CheckKeepAlive(Call* call);
  /// Waits until there is something to read or room to write. Returns false if the deadline has
  /// passed.
  bool Wait(const Deadline& deadline, int wake);
  /// Returns the socket, or -1 if the program took its number. Verifies it if the program has run
  /// since the last check.
  int Socket();
  /// Sends pending bytes until the socket is full. `call` may be null; otherwise it is asked for
  /// more bytes after all are sent.
  Progress Flush(Call* call);
  /// Receives available bytes. Those of a large message go directly into its memory.
  Progress Receive(Call* call);
  [[nodiscard]] CallEnd EndOfConnection() const;

  const VerifiedDescriptor socket_;
  int number_;            ///< the socket's number at the last check
  bool verified_ = true;  ///< whether the number was checked since the program last ran
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
  Progress progress_ = Progress::kNone;  ///< of the last turn
  std::array<char, 16384> staging_;
};

/// The idle connections of one client. Thread-safe and lock-free, so that a forked child can use it
/// at any time. A child drops the connections of its parent.
class ConnectionPool {
 public:
  ConnectionPool() = default;
  ~ConnectionPool() { Clear(); }
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// Returns a connection that was usable a moment ago, or null. Closes unusable connections.
  std::unique_ptr<Connection> Take();
  /// Keeps the connection for the next call if there is room.
  void Give(std::unique_ptr<Connection> connection);
  void Clear();

 private:
  std::array<std::atomic<Connection*>, 16> idle_{};
};

}  // namespace cccl_cache
