// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/acceptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "daemon/service/transport/guarded_sockets.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

/// The interval at which a blocked close of a client's socket is interrupted, so that the next
/// socket is closed soon.
constexpr std::chrono::milliseconds kPatience{1};

/// Maximum numbers of connections that are accepted from one listener before other events are
/// handled. The identification of a container takes longer than all else. A user of the node
/// therefore waits for at most two connections of containers: one in progress, and one that arrived
/// earlier.
constexpr int kAtOnce = 64;
constexpr int kAtOnceOfContainers = 1;
constexpr std::chrono::milliseconds kBreath{20};
/// The interval of the checks whether gRPC has closed the sockets of ended connections.
constexpr std::chrono::milliseconds kReleaseInterval{10};
constexpr uint64_t kStopId = 0;

Error SystemError(const char* what) {
  return Error{ErrorCode::kUnavailable, fmt::format("{}: {}", what, strerror(errno))};
}

Error Failed(const char* what) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("the system does not tell {}: {}", what, strerror(errno))};
}

}  // namespace

SocketCloser::~SocketCloser() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void SocketCloser::Close(FileDescriptor socket) {
  {
    const MutexLock lock(mutex_);
    sockets_.push_back(std::move(socket));
  }
  changed_.NotifyAll();
}

void SocketCloser::Run() {
  NameThread("socket closer");
  MutexLock lock(mutex_);
  for (;;) {
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return stopped_ || !sockets_.empty(); });
    if (sockets_.empty()) return;
    std::vector<FileDescriptor> closing = std::exchange(sockets_, {});
    lock.Unlock();
    {
      const InterruptedWaits interrupted(gettid(), kPatience);
      closing.clear();
    }
    lock.Lock();
  }
}

Acceptor::Acceptor(std::vector<ListeningSocket> listeners, std::chrono::milliseconds tick_interval,
                   Callbacks callbacks)
    : listeners_(std::move(listeners)),
      tick_interval_(tick_interval),
      callbacks_(std::move(callbacks)) {}

Acceptor::~Acceptor() {
  Stop();
  for (auto& [id, watched] : connections_) closer_.Close(std::move(watched.socket));
}

Status Acceptor::Watch(int fd, uint32_t events, uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return SystemError("cannot watch a socket");
  }
  return Ok{};
}

Status Acceptor::Start() {
  epoll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  stop_ = FileDescriptor(eventfd(0, EFD_CLOEXEC));
  spare_ = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!epoll_.valid() || !stop_.valid() || !spare_.valid()) {
    return SystemError("cannot set up the accept loop");
  }
  if (auto watched = Watch(stop_.get(), EPOLLIN, kStopId); !watched) return watched;
  // Ids 1 to N are the listeners in their order. Higher ids are connections.
  next_id_ = 1;
  for (const ListeningSocket& listener : listeners_) {
    if (auto watched = Watch(listener.fd(), EPOLLIN, next_id_++); !watched) return watched;
  }
  thread_ = std::thread([this] { Run(); });
  return Ok{};
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }
  listeners_.clear();
}

void Acceptor::Run() {
  NameThread("acceptor");
  std::array<epoll_event, 64> events;
  auto last_tick = std::chrono::steady_clock::now();
  auto last_release = last_tick;
  for (;;) {
    const auto longest =
        ended_.empty() ? tick_interval_ : std::min(tick_interval_, kReleaseInterval);
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(longest.count()));
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      if (id == kStopId) return;
      if (id <= listeners_.size()) {
        AcceptSome(listeners_[id - 1]);
      } else {
        Ended(id);
      }
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - last_release >= kReleaseInterval) {
      std::erase_if(ended_, [](const auto& guarded) { return guarded->ReleaseIfClosed(); });
      last_release = now;
    }
    if (now - last_tick < tick_interval_) continue;
    last_tick = now;
    CheckListeners();
    callbacks_.tick();
  }
}

size_t Acceptor::IndexOf(const ListeningSocket& listener) const {
  return static_cast<size_t>(&listener - listeners_.data());
}

void Acceptor::CheckListeners() {
  std::vector<std::string> problems = closed_;
  for (ListeningSocket& listener : listeners_) {
    const std::string problem = listener.Problem();
    if (problem.empty()) continue;
    problems.push_back(problem);
    if (!listener.for_containers()) continue;
    closed_.push_back(problem);
    for (const auto& [id, watched] : connections_) {
      if (watched.listener == IndexOf(listener)) shutdown(watched.socket.get(), SHUT_RDWR);
    }
    const ListeningSocket closed = std::move(listener);
  }
  callbacks_.tell_problem(fmt::format("{}", fmt::join(problems, "; ")));
}

void Acceptor::AcceptSome(const ListeningSocket& listener) {
  const int most = listener.for_containers() ? kAtOnceOfContainers : kAtOnce;
  for (int i = 0; i < most; ++i) {
    FileDescriptor socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      // A process in a container may have replaced the socket file, to relay the calls of others.
      // CheckListeners closes the listener then.
      if (listener.for_containers()) CheckListeners();
      if (listener.fd() < 0) return closer_.Close(std::move(socket));
      Adopt(std::move(socket), listener);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EMFILE || errno == ENFILE) TurnAway(listener.fd());
    // The kernel is probably out of memory. epoll would report the listener again at once, so the
    // thread pauses.
    if (errno != EAGAIN) std::this_thread::sleep_for(kBreath);
    return;
  }
}

void Acceptor::TurnAway(int listener) {
  spare_.Close();
  FileDescriptor turned_away(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  closer_.Close(std::move(turned_away));
  spare_ = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void Acceptor::Adopt(FileDescriptor socket, const ListeningSocket& listener) {
  auto peer = ReadPeerCredentials(socket.get());
  if (!peer) return closer_.Close(std::move(socket));
  callbacks_.identify(socket.get(), listener, peer.value());
  auto traffic = callbacks_.traffic_of(*peer);
  if (traffic == nullptr) return closer_.Close(std::move(socket));
  FileDescriptor watched(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!watched.valid()) return closer_.Close(std::move(socket));
  auto guarded = GuardSocket(socket.get(), std::move(traffic));
  auto connection = callbacks_.admit(std::move(socket), *peer);
  if (connection == nullptr) {
    guarded->End();
    return closer_.Close(std::move(watched));
  }
  const uint64_t id = next_id_++;
  // epoll always reports a hang-up, so no other event is requested. If the socket can't be watched,
  // its hang-up would not be seen, and the duplicate would keep the connection open. So it is shut
  // down.
  if (!Watch(watched.get(), 0, id)) {
    shutdown(watched.get(), SHUT_RDWR);
    guarded->End();
    ended_.push_back(std::move(guarded));
    return closer_.Close(std::move(watched));
  }
  connections_.emplace(id, Watched{std::move(watched), std::move(connection), std::move(guarded),
                                   *std::move(peer), IndexOf(listener)});
}

void Acceptor::Ended(uint64_t id) {
  const auto ended = connections_.extract(id);
  if (ended.empty()) return;
  Watched& watched = ended.mapped();
  watched.guarded->End();
  if (const FrameRule* rule = watched.guarded->broken()) callbacks_.cut_off(watched.peer, rule);
  ended_.push_back(std::move(watched.guarded));
  closer_.Close(std::move(watched.socket));
}

Result<Peer> ReadPeerCredentials(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return Failed("who connected (SO_PEERCRED)");
  }
  Peer peer;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  // There is room for 64 groups first, which is enough for most users. The kernel's limit is
  // 65,536.
  peer.groups.resize(64);
  size = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0) {
    if (errno != ERANGE) return Failed("the groups of who connected (SO_PEERGROUPS)");
    peer.groups.resize(size / sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0) {
      return Failed("the groups of who connected (SO_PEERGROUPS)");
    }
  }
  peer.groups.resize(size / sizeof(gid_t));
  std::sort(peer.groups.begin(), peer.groups.end());
  return peer;
}

}  // namespace cccl_cache::daemon
