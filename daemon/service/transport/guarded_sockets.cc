// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/guarded_sockets.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

// The headers of some C libraries do not define this name of a field of sigevent.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace cccl_cache::daemon {
namespace {

uint64_t CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

/// The guarded sockets, keyed by descriptor. An entry stays until another socket with the same
/// descriptor is guarded, because gRPC still reads after the client's hang-up. So there are at most
/// as many entries as there were connections at one time.
class Table {
 public:
  void Put(int fd, std::shared_ptr<GuardedSocket> socket) {
    const std::unique_lock lock(mutex_);
    sockets_[fd] = std::move(socket);
  }
  /// Returns null if the socket is not guarded.
  std::shared_ptr<GuardedSocket> Find(int fd) const {
    const std::shared_lock lock(mutex_);
    const auto found = sockets_.find(fd);
    return found == sockets_.end() ? nullptr : found->second;
  }
  // The lock is held during fork(), and the child gets a new lock, because the child may send too.
  // It can't unlock the old one: glibc requires the id of the thread that locked it, and the
  // child's thread has another id.
  void BeforeFork() { mutex_.lock(); }
  void AfterFork() { mutex_.unlock(); }
  void AfterForkInChild() { new (&mutex_) std::shared_mutex; }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<int, std::shared_ptr<GuardedSocket>> sockets_;  // guarded by mutex_
};

/// Returns the table of the process. It is never destroyed, because gRPC's threads read until the
/// end of the process.
Table& GuardedSockets() {
  static Table& table = *new Table;
  [[maybe_unused]] static const int registered = pthread_atfork(
      [] { table.BeforeFork(); }, [] { table.AfterFork(); }, [] { table.AfterForkInChild(); });
  return table;
}

/// Calls `take` with each piece of the first `bytes` bytes of the message, until the result is not
/// null. Returns the last result.
template <typename Take>
const FrameRule* ForEachPiece(const msghdr& message, size_t bytes, Take take) {
  const FrameRule* broken = nullptr;
  for (size_t i = 0; i < message.msg_iovlen && bytes > 0 && broken == nullptr; ++i) {
    const iovec& piece = message.msg_iov[i];
    const size_t size = std::min(bytes, piece.iov_len);
    broken = take(std::span(static_cast<const uint8_t*>(piece.iov_base), size));
    bytes -= size;
  }
  return broken;
}

ssize_t Send(int fd, const msghdr* message, int flags) {
  using Function = ssize_t (*)(int, const msghdr*, int);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "sendmsg"));
  const auto guarded = GuardedSockets().Find(fd);
  const ssize_t sent = next(fd, message, flags);
  if (sent > 0 && guarded != nullptr) guarded->Sent(*message, static_cast<size_t>(sent));
  return sent;
}

ssize_t Receive(int fd, msghdr* message, int flags) {
  using Function = ssize_t (*)(int, msghdr*, int);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "recvmsg"));
  const ssize_t received = next(fd, message, flags);
  if (received <= 0 || (flags & (MSG_PEEK | MSG_ERRQUEUE)) != 0) return received;
  const auto guarded = GuardedSockets().Find(fd);
  if (guarded == nullptr) return received;
  const FrameRule* rule = guarded->Received(*message, static_cast<size_t>(received));
  // The descriptor may be another socket by now. This is checked only after a broken rule, because
  // the check takes 0.4 us.
  if (rule == nullptr || guarded->cookie() != CookieOf(fd)) return received;
  guarded->CutOff(rule);
  // This ends the connection, so that the acceptor sees the hang-up on its duplicate of the socket.
  shutdown(fd, SHUT_RDWR);
  errno = ECONNRESET;
  return -1;
}

/// Returns bytes of a client that breaks a rule: HTTP/2's preface, SETTINGS, and an endless header
/// block.
std::string OverlongHeaderBlock() {
  constexpr char kEmptySettings[] = "\0\0\0\4\0\0\0\0\0";
  constexpr char kHeadersOf8KiB[] = "\0\x20\0\1\0\0\0\0\1";
  constexpr char kContinuationOf16KiB[] = "\0\x40\0\11\0\0\0\0\1";
  std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  bytes.append(kEmptySettings, 9);
  bytes.append(kHeadersOf8KiB, 9);
  // A literal field with the name x and an incomplete value of 1 MiB.
  constexpr char kField[] = "\0\1x\x7f\x81\xff\x3f";
  bytes.append(kField, 7).append((8 << 10) - 7, 'a');
  bytes.append(kContinuationOf16KiB, 9).append(16 << 10, 'a');
  return bytes;
}

/// Waits until the peer has ended the connection. Returns false if it has not within `timeout`.
bool Ended(int fd, std::chrono::milliseconds timeout) {
  pollfd ended{fd, 0, 0};
  return poll(&ended, 1, static_cast<int>(timeout.count())) == 1;
}

int InterruptSignal() { return SIGRTMAX - 1; }

/// Installs a handler that does nothing. It has no SA_RESTART, so that a blocked system call
/// returns.
void InstallHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(InterruptSignal(), &action, nullptr);
  });
}

}  // namespace

const FrameRule* GuardedSocket::Received(const msghdr& message, size_t bytes) {
  if (const FrameRule* rule = broken_) return rule;
  const auto now = FrameRules::Clock::now();
  const MutexLock lock(mutex_);
  // Clang's thread-safety analysis does not see that the lock is held inside the lambda.
  return ForEachPiece(message, bytes, [&](auto piece) NO_THREAD_SAFETY_ANALYSIS {
    return rules_.Received(piece, now);
  });
}

void GuardedSocket::Sent(const msghdr& message, size_t bytes) {
  has_sent_ = true;
  const MutexLock lock(mutex_);
  ForEachPiece(message, bytes, [this](auto piece) NO_THREAD_SAFETY_ANALYSIS -> const FrameRule* {
    rules_.Sent(piece);
    return nullptr;
  });
}

void GuardedSocket::End() {
  const MutexLock lock(mutex_);
  rules_.End(FrameRules::Clock::now());
}

bool GuardedSocket::ReleaseIfClosed() {
  if (CookieOf(fd_) == cookie_) return false;
  const MutexLock lock(mutex_);
  rules_.Release();
  return true;
}

std::shared_ptr<GuardedSocket> GuardSocket(int fd, std::shared_ptr<UserTraffic> of_user) {
  auto socket = std::make_shared<GuardedSocket>(fd, CookieOf(fd), std::move(of_user));
  GuardedSockets().Put(fd, socket);
  return socket;
}

Status CheckThatSocketsAreGuarded(const std::function<void(FileDescriptor)>& serve,
                                  std::chrono::milliseconds timeout) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return Error{ErrorCode::kUnavailable,
                 std::string("cannot make a pair of sockets: ") + strerror(errno)};
  }
  const FileDescriptor client(pair[0]);
  FileDescriptor served(pair[1]);
  const auto guarded = GuardSocket(
      served.get(), std::make_shared<UserTraffic>(TrafficLimits{}, FrameRules::Clock::now()));
  serve(std::move(served));
  const std::string sent = OverlongHeaderBlock();
  const bool all_sent = send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL) ==
                        static_cast<ssize_t>(sent.size());
  const bool cut_off = all_sent && Ended(client.get(), timeout) && guarded->broken() != nullptr;
  guarded->End();
  if (cut_off && guarded->has_sent()) return Ok{};
  return Error{ErrorCode::kUnavailable,
               "the gRPC library of this machine does not receive through the daemon's recvmsg, or "
               "does not send through its sendmsg, so any user could make the daemon use up all "
               "memory. Use the libgrpc that cccl-cached was built with (Debian 12: 1.51.1)"};
}

InterruptedWaits::InterruptedWaits(pid_t thread, std::chrono::milliseconds interval) {
  InstallHandler();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = InterruptSignal();
  event.sigev_notify_thread_id = thread;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) return;
  made_ = true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(interval);
  const timespec each{.tv_sec = seconds.count(),
                      .tv_nsec = std::chrono::nanoseconds(interval - seconds).count()};
  const itimerspec again{.it_interval = each, .it_value = each};
  timer_settime(timer_, 0, &again, nullptr);
}

InterruptedWaits::~InterruptedWaits() {
  if (made_) timer_delete(timer_);
}

}  // namespace cccl_cache::daemon

extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int fd, msghdr* message,
                                                                  int flags) {
  return cccl_cache::daemon::Receive(fd, message, flags);
}

extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr* message,
                                                                  int flags) {
  return cccl_cache::daemon::Send(fd, message, flags);
}
