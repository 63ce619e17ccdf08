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

/// Closes clients' sockets on a background thread, because a close may block (guarded_sockets.h).
/// Thread-safe.
class SocketCloser {
 public:
  SocketCloser() : thread_([this] { Run(); }) {}
  /// Waits until the remaining sockets are closed.
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

/// An object that the acceptor keeps while a connection is open. The destructor of a derived class
/// learns that the connection has ended.
class Connection {
 public:
  virtual ~Connection() = default;
};

/// Accepts connections on Unix sockets, identifies the peers, and detects the end of each
/// connection. GuardSocket checks the bytes that clients send. If the path of a listener for
/// containers leads to another file, the listener and its connections are closed. All of this, and
/// all callbacks, run on the acceptor's own thread. Start and Stop must be called on one thread.
class Acceptor {
 public:
  struct Callbacks {
    /// Completes the peer, of which the kernel's description is set: account, files that the daemon
    /// may open for it, and whether it is an administrator. Replaces its uid if it is in a
    /// container.
    std::function<void(int socket, const ListeningSocket&, Peer&)> identify;
    /// Returns the traffic of the peer's user. Returns null if the peer may not connect now.
    std::function<std::shared_ptr<UserTraffic>(const Peer&)> traffic_of;
    /// Takes over the socket and returns an object to keep until the connection ends. Or closes the
    /// socket and returns null.
    std::function<std::unique_ptr<Connection>(FileDescriptor, const Peer&)> admit;
    /// Called after a connection was cut off because its client broke the rule.
    std::function<void(const Peer&, const FrameRule* rule)> cut_off;
    std::function<void()> tick;
    /// Called before each tick, and whenever the listeners were checked, with the text of their
    /// problems. The text is empty if there are none.
    std::function<void(std::string)> tell_problem;
  };

  /// The callback `tick` is called at intervals of at most twice `tick_interval`.
  Acceptor(std::vector<ListeningSocket> listeners, std::chrono::milliseconds tick_interval,
           Callbacks callbacks);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  [[nodiscard]] Status Start();
  /// Ends the thread and closes the listening sockets. Connections stay open until the acceptor is
  /// destroyed.
  void Stop();

 private:
  struct Watched {
    FileDescriptor socket;  ///< a duplicate of the server's descriptor; epoll reports its hang-up
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
  /// Closes each listener for containers whose path leads to another file, and its connections.
  /// Reports the problems of all listeners.
  void CheckListeners();

  std::vector<ListeningSocket> listeners_;  ///< a closed listener stays here, without a descriptor
  std::vector<std::string> closed_;         ///< the reason for each closed listener
  const std::chrono::milliseconds tick_interval_;
  const Callbacks callbacks_;
  FileDescriptor epoll_;
  FileDescriptor stop_;
  FileDescriptor spare_;  ///< freed to accept and close a connection when descriptors run out
  uint64_t next_id_ = 0;
  SocketCloser closer_;  ///< closes all sockets for this thread, which must not block
  std::map<uint64_t, Watched> connections_;
  std::vector<std::shared_ptr<GuardedSocket>> ended_;  ///< ended connections that gRPC has not
                                                       ///< closed yet
  std::thread thread_;
};

/// Returns the uid, gid, groups and pid of the process that connected to this Unix socket, as the
/// kernel recorded them when it connected.
[[nodiscard]] Result<Peer> ReadPeerCredentials(int fd);

}  // namespace cccl_cache::daemon
