// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/service/transport/guarded_sockets.h"
#include "daemon/service/transport/listening_socket.h"

namespace cccl_cache::daemon {

/// Closes clients' sockets on its own thread, because a close may wait (guarded_sockets.h).
/// Thread-safe.
class SocketCloser {
 public:
  SocketCloser() : thread_([this] { Run(); }) {}
  /// Closes the remaining sockets.
  ~SocketCloser();
  SocketCloser(const SocketCloser&) = delete;
  SocketCloser& operator=(const SocketCloser&) = delete;

  void Close(FileDescriptor socket);

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  std::vector<FileDescriptor> sockets_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// Held while a connection is open.
class Connection {
 public:
  virtual ~Connection() = default;
};

/// Accepts connections on Unix sockets on its own thread, identifies the peers, and notices the end
/// of each connection. GuardSocket checks the bytes that clients send. If the path of a listener
/// for containers leads elsewhere, the listener and its connections are closed. Start and Stop must
/// be called from one thread. All callbacks run on the acceptor's thread.
class Acceptor {
 public:
  struct Callbacks {
    /// Completes the kernel's description of the socket's peer: its account, its files, and whether
    /// it is an administrator.
    std::function<void(int socket, const ListeningSocket&, Peer&)> identify;
    /// Returns null if this peer may not connect now.
    std::function<std::shared_ptr<UserTraffic>(const Peer&)> traffic_of;
    /// Takes over the socket, or closes it and returns null.
    std::function<std::unique_ptr<Connection>(FileDescriptor, const Peer&)> admit;
    /// Called after a connection was cut off because its client broke this rule.
    std::function<void(const Peer&, const FrameRule* rule)> cut_off;
    std::function<void()> tick;
    /// Called at least before each tick, with the problem of the listeners. Empty for none.
    std::function<void(std::string)> tell_problem;
  };

  /// Calls `tick` at least every two `tick_interval`.
  Acceptor(std::vector<ListeningSocket> listeners, std::chrono::milliseconds tick_interval,
           Callbacks callbacks);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  [[nodiscard]] Status Start();
  /// Closes the listening sockets. Connections stay open until the acceptor is destroyed.
  void Stop();

 private:
  struct Watched {
    FileDescriptor socket;  ///< a duplicate, which sees the hang-up of either side
    std::unique_ptr<Connection> connection;
    std::shared_ptr<GuardedSocket> guarded;
    Peer peer;
    size_t listener;  ///< index in listeners_
  };

  [[nodiscard]] Status Watch(int fd, uint32_t events, uint64_t id);
  void Run();
  void AcceptSome(const ListeningSocket& listener);
  void Adopt(FileDescriptor socket, const ListeningSocket& listener);
  void Ended(uint64_t id);
  void TurnAway(int listener);
  [[nodiscard]] size_t IndexOf(const ListeningSocket& listener) const;
  /// Closes the listeners for containers that are no longer at their paths, with their connections.
  void CheckListeners();

  std::vector<ListeningSocket> listeners_;  ///< closed listeners have no descriptor
  std::vector<std::string> closed_;         ///< the reasons of closed listeners
  const std::chrono::milliseconds tick_interval_;
  const Callbacks callbacks_;
  FileDescriptor epoll_;
  FileDescriptor stop_;
  FileDescriptor spare_;  ///< closed for a moment when there are no more descriptors
  uint64_t next_id_ = 0;
  SocketCloser closer_;  ///< for the sockets that this thread would close
  std::map<uint64_t, Watched> connections_;
  std::vector<std::shared_ptr<GuardedSocket>> ended_;  ///< ended connections that gRPC has not
                                                       ///< closed yet
  std::thread thread_;
};

/// Returns the kernel's record of the process that connected to this Unix socket, as of the
/// connect.
[[nodiscard]] Result<Peer> ReadPeerCredentials(int fd);

}  // namespace cccl_cache::daemon
