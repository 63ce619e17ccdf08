// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "daemon/service/transport/guarded_sockets.h"
#include "daemon/service/transport/listening_socket.h"

namespace cccl_cache::daemon {

/// Closes sockets of clients in a thread of its own, for a close may wait (guarded_sockets.h).
/// Thread-safe.
class SocketCloser {
 public:
  SocketCloser() : thread_([this] { Run(); }) {}
  /// Closes what is left.
  ~SocketCloser();
  SocketCloser(const SocketCloser&) = delete;
  SocketCloser& operator=(const SocketCloser&) = delete;

  void Close(FileDescriptor socket);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FileDescriptor> sockets_;  // guarded by mutex_
  bool stopped_ = false;                 // guarded by mutex_
  std::thread thread_;
};

/// Held while a connection is open.
class Connection {
 public:
  virtual ~Connection() = default;
};

/// Accepts on Unix sockets in a thread of its own, learns who connected, and notices when a
/// connection has ended. What clients send is judged by GuardSocket. Start and Stop from one
/// thread; all callbacks run on the acceptor's.
class Acceptor {
 public:
  struct Callbacks {
    /// Adds to what the kernel said of the peer of this socket what the daemon says: its account,
    /// and whether it is an administrator, which it is called if the listener may have any.
    std::function<void(int socket, Peer&)> identify;
    /// Null: this peer may not connect now.
    std::function<std::shared_ptr<UserTraffic>(const Peer&)> traffic_of;
    /// Takes the socket over, or closes it and returns null.
    std::function<std::unique_ptr<Connection>(FileDescriptor, const Peer&)> admit;
    /// A connection was cut off, for the rule that its client broke.
    std::function<void(const Peer&, const FrameRule* rule)> cut_off;
    std::function<void()> tick;  ///< every few seconds
  };

  Acceptor(std::vector<ListeningSocket> listeners, Callbacks callbacks);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  [[nodiscard]] Status Start();
  /// Closes the listening sockets. Connections stay as they are until the acceptor's end.
  void Stop();

 private:
  struct Watched {
    FileDescriptor socket;  ///< a duplicate: it sees the hang-up whoever closes first
    std::unique_ptr<Connection> connection;
    std::shared_ptr<GuardedSocket> guarded;
    Peer peer;
  };

  [[nodiscard]] Status Watch(int fd, uint32_t events, uint64_t id);
  void Run();
  void AcceptSome(const ListeningSocket& listener);
  void Adopt(FileDescriptor socket, const ListeningSocket& listener);
  void Ended(uint64_t id);
  void TurnAway(int listener);

  std::vector<ListeningSocket> listeners_;
  const Callbacks callbacks_;
  FileDescriptor epoll_;
  FileDescriptor stop_;
  FileDescriptor spare_;  ///< given up for a moment when descriptors have run out
  uint64_t next_id_ = 0;
  SocketCloser closer_;  ///< of what this thread would close
  std::map<uint64_t, Watched> connections_;
  std::thread thread_;
};

/// What the kernel says of the process that connected to this Unix socket, as it was when it
/// connected.
[[nodiscard]] Result<Peer> ReadPeerCredentials(int fd);

}  // namespace cccl_cache::daemon
