// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/glance.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/http2_session.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// One connection to the daemon, for one call at a time. Belongs to the process that opened it: in
/// a child after fork() it is only closed, without a word on the wire. Never raises SIGPIPE. Not
/// thread-safe.
class Connection {
 public:
  /// CCCL_CACHE_NO_DAEMON: nobody listens. CCCL_CACHE_OVERLOADED: the queue of connections is full.
  static Expected<std::unique_ptr<Connection>> Open(const std::string& path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends the call and waits for its end, at most until its deadline, and not for a server that
  /// says nothing (KeepAlive).
  CallEnd Run(Call* call);

  // The same in steps, for a call that both sides go on talking on, or for who waits for several
  // connections at once: Start, any number of turns or advances, Finish. Between them nothing
  // moves.

  void Start(Call* call);
  /// Sends what there is to be sent and receives what has come, after waiting for it; ends the call
  /// where its end has come. False: `until` passed. Returns as well when `wake`, a descriptor, can
  /// be read.
  bool Turn(Call* call, const Deadline& until, int wake = -1);
  /// The same, and the call ends as kSilent where the server says nothing.
  bool TurnOrDoubt(Call* call, const Deadline& until);
  /// Goes on as far as that needs no wait, the call's deadline aside. True: it has ended. False: to
  /// go on, wait for the socket to be readable, or writable too if there is more to be sent, or for
  /// the moment at which the server's silence is to be looked at.
  bool Advance(Call* call);
  [[nodiscard]] KeepAlive::Clock::time_point doubts_at() const { return keep_alive_.until(); }
  /// The call waits for something more, which is to come within that time.
  void Hurry(std::chrono::milliseconds left) { keep_alive_.Hurry(KeepAlive::Clock::now(), left); }
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] bool wants_to_write() const { return unflushed_ > 0 && !broken_; }
  /// Leaves the call, ended or not.
  void Finish(Call* call);
  /// What was to be sent is with the system, and nothing refers to it.
  [[nodiscard]] bool flushed() const { return unflushed_ == 0; }

  /// Whether this process opened it.
  [[nodiscard]] bool owned() const { return getpid() == owner_; }
  /// The server takes no more calls, but finishes those that it has.
  [[nodiscard]] bool going_away() const { return session_.going_away(); }
  /// Whether keeping it for another call makes sense.
  [[nodiscard]] bool Reusable() const { return !broken_ && !session_.going_away(); }
  /// Whether another call may be sent now: reads what the server said meanwhile.
  [[nodiscard]] bool Usable();

 private:
  explicit Connection(FileDescriptor socket);

  enum class Progress { kMade, kNone, kBroken };

  /// Sends what there is to be sent; false: the call has ended.
  bool Send(Call* call);
  /// Receives what has come, the end of the connection too, which is that of the call.
  Progress ReceiveBytes(Call* call);
  /// Asks whether the server is there if it has said nothing for long; ends the call if it was
  /// asked before.
  void CheckKeepAlive(Call* call);
  /// Waits until there is something to read or room to write; false: the deadline passed.
  bool Wait(const Deadline& deadline, int wake);
  /// Sends what waits to be sent, as far as the socket takes it.
  /// `call`: asked for more to be sent once all is out; may be null.
  Progress Flush(Call* call);
  /// Receives what there is; a large message goes straight to its place.
  Progress Receive(Call* call);
  [[nodiscard]] CallEnd EndOfConnection() const;

  const FileDescriptor socket_;
  const pid_t owner_;
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

/// Idle connections of one client. Thread-safe and without a lock, so that a child forked at any
/// moment can use it; there the connections of its parent are dropped.
class ConnectionPool {
 public:
  ConnectionPool() = default;
  ~ConnectionPool() { Clear(); }
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// A connection that was usable a moment ago, or null.
  std::unique_ptr<Connection> Take();
  /// Keeps it for the next call if there is room.
  void Give(std::unique_ptr<Connection> connection);
  void Clear();

 private:
  std::array<std::atomic<Connection*>, 16> idle_{};
};

}  // namespace cccl_cache
