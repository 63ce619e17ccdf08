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

/// One connection to the daemon, for one call at a time. Belongs to the process that opened it: in
/// a child after fork() it is only closed, and nothing is sent. Never raises SIGPIPE. If the
/// program closed the socket, or gave its number to another file, the connection counts as lost,
/// and the number is left alone. Not thread-safe.
class Connection {
 public:
  /// CCCL_CACHE_NO_DAEMON: no daemon listens. CCCL_CACHE_OVERLOADED: the listen queue is full.
  /// `patience`: half of the time after which a silent server is given up.
  static Expected<std::unique_ptr<Connection>> Open(
      const std::string& path, std::chrono::milliseconds patience = KeepAlive::kMax);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends the call and waits for its end, at most until its deadline. Gives up earlier on an
  /// unresponsive server (KeepAlive).
  CallEnd Run(Call* call);

  // The same in steps, for a bidirectional stream, or for a caller that waits for several
  // connections at once: Start, any number of turns or advances, Finish. Between them nothing is
  // sent or received.

  void Start(Call* call);
  /// Waits, then sends pending bytes and receives available ones. Ends the call if its end has
  /// arrived. False: `until` passed. Also returns when the descriptor `wake` is readable.
  bool Turn(Call* call, const Deadline& until, int wake = -1);
  /// Like Turn, and ends the call as kSilent if the server does not respond.
  bool TurnOrDoubt(Call* call, const Deadline& until);
  /// Advances the call as far as possible without waiting; ignores its deadline. True: it has
  /// ended. False: wait until the socket is readable, or also writable if there is more to send, or
  /// until doubts_at().
  bool Advance(Call* call);
  [[nodiscard]] KeepAlive::Clock::time_point doubts_at() const { return keep_alive_.until(); }
  /// The call now also waits for an answer that is due within that time.
  void Hurry(std::chrono::milliseconds left) { keep_alive_.Hurry(KeepAlive::Clock::now(), left); }
  /// Returns the socket, or -1 if the program took its number.
  [[nodiscard]] int socket() { return Socket(); }
  [[nodiscard]] bool wants_to_write() const { return unflushed_ > 0 && !broken_; }
  /// Detaches the call, ended or not.
  void Finish(Call* call);
  /// Returns whether all bytes were passed to the kernel, so that nothing refers to them.
  [[nodiscard]] bool flushed() const { return unflushed_ == 0; }

  /// The program has run since the last use, so the next one verifies the socket. Not needed before
  /// Usable and Advance.
  void Recheck() { verified_ = false; }

  /// Returns whether this process opened the connection.
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }
  /// Returns whether the server takes no more calls; it finishes those that it has.
  [[nodiscard]] bool going_away() const { return session_.going_away(); }
  /// Returns whether the connection can be kept for another call: not after the program changed its
  /// user, because the daemon uses the credentials at connect time.
  [[nodiscard]] bool Reusable() const {
    return !broken_ && !session_.going_away() && geteuid() == user_ && getegid() == group_;
  }
  /// Returns whether another call may be sent now. Reads what the server has sent meanwhile.
  [[nodiscard]] bool Usable();

 private:
  Connection(FileDescriptor socket, std::chrono::milliseconds patience);

  enum class Progress { kMade, kNone, kBroken };

  /// Sends pending bytes. False: the call has ended.
  bool Send(Call* call);
  /// Receives available bytes. The end of the connection ends the call.
  Progress ReceiveBytes(Call* call);
  /// Sends a PING if the server has been silent for long. Ends the call if a PING is already
  /// unanswered.
  void CheckKeepAlive(Call* call);
  /// Waits until there is something to read or room to write; false: the deadline passed.
  bool Wait(const Deadline& deadline, int wake);
  /// Returns the socket, or -1 if the program took its number. Verifies it if that may be.
  int Socket();
  /// Sends pending bytes until the socket is full. `call`: asked for more once all are sent; may be
  /// null.
  Progress Flush(Call* call);
  /// Receives available bytes; those of a large message go straight into its memory.
  Progress Receive(Call* call);
  [[nodiscard]] CallEnd EndOfConnection() const;

  const VerifiedDescriptor socket_;
  int number_;            ///< as verified last
  bool verified_ = true;  ///< since the program ran last
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

/// The idle connections of one client. Thread-safe and lock-free, so that a child forked at any
/// moment can use it. A child drops the connections of its parent.
class ConnectionPool {
 public:
  ConnectionPool() = default;
  ~ConnectionPool() { Clear(); }
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// Returns a connection that was usable a moment ago, or null. Closes those that are not.
  std::unique_ptr<Connection> Take();
  /// Keeps it for the next call if there is room.
  void Give(std::unique_ptr<Connection> connection);
  void Clear();

 private:
  std::array<std::atomic<Connection*>, 16> idle_{};
};

}  // namespace cccl_cache
