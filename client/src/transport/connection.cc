// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/peer_pidfd.h"
#include "base/unix_socket.h"
#include "client/src/transport/address.h"
#include "proto/daemons_rights.h"

namespace cccl_cache {
namespace {

/// For a message: returns the advice to join the group that may use the socket, followed by "; ".
/// The result is empty if membership of a group would not help.
std::string Admitted(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "";
  const bool for_group = (status.st_mode & (S_IWGRP | S_IWOTH)) == S_IWGRP;
  if (!for_group || status.st_gid == 0 || status.st_gid == getegid()) return "";
  const std::string group = std::to_string(status.st_gid);
  return "ask to be added to group " + group + " (getent group " + group + "), which may; ";
}

Error ConnectError(const std::string& path, int error) {
  switch (error) {
    case ENAMETOOLONG:
      return {CCCL_CACHE_INVALID_REQUEST, "the socket's path is longer than the " +
                                              std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                                              " bytes that the system allows: " + path};
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
      return {CCCL_CACHE_UNAVAILABLE, std::string("can't make a socket: ") + std::strerror(error)};
    case EAGAIN:
      return {CCCL_CACHE_OVERLOADED,
              "cccl-cached at " + path + " has more connections waiting than it takes: try again"};
    case EACCES:
    case EPERM:
      return {CCCL_CACHE_DENIED, "this user may not use the socket " + path + ": " +
                                     Admitted(path) +
                                     "the daemon's --socket-mode and --socket-group decide"};
    default:
      return DaemonUnreachable(SocketSearch::FromEnvironment(""), path, error);
  }
}

/// Returns whether the daemon's process is alive. If so, its pid was not reused by another process.
/// Linux before 6.5 can't tell; the result is true then.
bool ListenerLives(int socket) {
  const FileDescriptor process = PeerPidfd(socket);
  return process.valid() ? IsAlive(process) : errno == ENOPROTOOPT;
}

/// Returns the secret by which this process proves that it has the daemon's rights
/// (proto/daemons_rights.h). The result is empty if the kernel does not show it to this process.
std::string DaemonsSecret(int socket) {
  ucred daemon{};
  socklen_t size = sizeof(daemon);
  const bool known = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &daemon, &size) == 0;
  if (!known || daemon.uid != geteuid() || daemon.pid == 0) return {};
  std::array<char, 128> link;
  const ssize_t length = readlink(
      ("/proc/" + std::to_string(daemon.pid) + "/fd/" + std::to_string(kRightsDescriptor)).c_str(),
      link.data(), link.size());
  if (length < 0 || !ListenerLives(socket)) return {};
  return std::string(RightsIn({link.data(), static_cast<size_t>(length)}));
}

}  // namespace

Expected<std::unique_ptr<Connection>> Connection::Open(const std::string& path,
                                                       std::chrono::milliseconds patience) {
  FileDescriptor socket = ConnectToSocket(path);
  if (!socket.valid()) return ConnectError(path, errno);
  std::string secret = DaemonsSecret(socket.get());
  std::unique_ptr<Connection> connection(new Connection(std::move(socket), patience));
  if (!connection->session_.ok()) {
    return Error{CCCL_CACHE_UNAVAILABLE, "no memory for a connection to cccl-cached at " + path};
  }
  connection->session_.Prove(std::move(secret));
  return connection;
}

Connection::Connection(FileDescriptor socket, std::chrono::milliseconds patience)
    : socket_(std::move(socket)),
      number_(socket_.Get()),
      user_(geteuid()),
      group_(getegid()),
      patience_(patience),
      keep_alive_(KeepAlive::Clock::now(), {}) {}

Connection::~Connection() {
  // A forked child may hold a copy of the descriptor, so close() alone would not end the
  // connection. Therefore it is shut down.
  if (!owned()) return;
  Recheck();
  if (const int socket = Socket(); socket >= 0) shutdown(socket, SHUT_RDWR);
}

CallEnd Connection::Run(Call* call) {
  Start(call);
  while (!call->ended()) {
    if (!TurnOrDoubt(call, call->deadline())) call->End(CallEnd::kDeadline);
  }
  Finish(call);
  return call->end();
}

void Connection::Start(Call* call) {
  session_.Start(call);
  Expect(call->deadline().Remaining());
  progress_ = Progress::kNone;
}

bool Connection::Turn(Call* call, const Deadline& until, int wake) {
  if (!Send(call)) return true;
  const bool in_time = progress_ == Progress::kMade ? !until.Passed() : Wait(until, wake);
  if (!in_time) return false;
  progress_ = ReceiveBytes(call);
  return true;
}

bool Connection::TurnOrDoubt(Call* call, const Deadline& until) {
  if (Turn(call, std::min(until, Deadline::At(keep_alive_.until())))) return true;
  if (until.Passed()) return false;
  CheckKeepAlive(call);
  return true;
}

bool Connection::Advance(Call* call) {
  Recheck();
  while (!call->ended() && Send(call) && ReceiveBytes(call) != Progress::kNone) {
  }
  if (!call->ended()) CheckKeepAlive(call);
  return call->ended();
}

void Connection::CheckKeepAlive(Call* call) {
  switch (keep_alive_.At(KeepAlive::Clock::now())) {
    case KeepAlive::Means::kNothingYet:
      return;
    case KeepAlive::Means::kAsk:
      session_.Ping();
      Send(call);
      return;
    case KeepAlive::Means::kGone:
      call->End(CallEnd::kSilent);
  }
}

bool Connection::Send(Call* call) {
  // If a send fails, the call continues: a server that refuses a request may close the connection
  // before it has read everything, and its reply must still be read.
  if (!broken_ && Flush(call) == Progress::kBroken) broken_ = true;
  if (session_.over()) call->End(CallEnd::kMalformed);
  return !call->ended();
}

Connection::Progress Connection::ReceiveBytes(Call* call) {
  const Progress progress = Receive(call);
  if (progress == Progress::kMade) keep_alive_.Broken(KeepAlive::Clock::now());
  if (progress == Progress::kBroken) {
    broken_ = true;
    call->End(EndOfConnection());
  }
  return progress;
}

bool Connection::Usable() {
  if (!owned() || !Reusable()) return false;
  Recheck();
  while (true) {
    const Progress progress = Receive(nullptr);
    if (progress == Progress::kBroken) return false;
    if (progress == Progress::kNone) return !session_.going_away();
  }
}

bool Connection::Wait(const Deadline& deadline, int wake) {
  const int socket = Socket();
  if (socket < 0) return true;  // the next receive fails, which ends the call
  std::array<pollfd, 2> waiting = {{{socket, POLLIN, 0}, {wake, POLLIN, 0}}};
  if (wants_to_write()) waiting[0].events |= POLLOUT;
  if (!wants_to_write() && wake < 0 && glance_.SeesReadable(socket)) return true;
  Recheck();  // other threads may close the socket while this thread sleeps
  while (true) {
    const int ready = poll(waiting.data(), waiting.size(), deadline.PollTimeout());
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

int Connection::Socket() {
  if (!std::exchange(verified_, true)) number_ = socket_.Get();
  return number_;
}

Connection::Progress Connection::Flush(Call* call) {
  while (true) {
    // When everything is sent, looks for more to send: the server may have enlarged its
    // flow-control window meanwhile.
    if (unflushed_ == 0) {
      output_.Clear();
      flushed_ = {};
      if (call != nullptr && call->TakeMore()) session_.Resume();
      session_.Send(&output_);
      unflushed_ = output_.size();
      if (unflushed_ == 0) return Progress::kMade;
    }
    std::array<iovec, 64> pieces;
    msghdr message = {};
    message.msg_iov = pieces.data();
    message.msg_iovlen = output_.Describe(flushed_, pieces);
    const ssize_t sent = sendmsg(Socket(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN ? Progress::kNone : Progress::kBroken;
    flushed_ = output_.Advance(flushed_, static_cast<size_t>(sent));
    unflushed_ -= static_cast<size_t>(sent);
  }
}

Connection::Progress Connection::Receive(Call* call) {
  const std::span<char> room = call != nullptr ? call->Room() : std::span<char>();
  std::array<iovec, 2> pieces = {{{room.data(), room.size()}, {staging_.data(), staging_.size()}}};
  msghdr message = {};
  message.msg_iov = room.empty() ? &pieces[1] : pieces.data();
  message.msg_iovlen = room.empty() ? 1 : 2;
  const ssize_t received = recvmsg(Socket(), &message, MSG_DONTWAIT);
  if (received < 0) {
    return errno == EAGAIN || errno == EINTR ? Progress::kNone : Progress::kBroken;
  }
  if (received == 0) return Progress::kBroken;
  const size_t size = static_cast<size_t>(received);
  const size_t in_room = std::min(size, room.size());
  bool understood = in_room == 0 || session_.Receive({room.data(), in_room});
  if (understood && size > in_room) {
    understood = session_.Receive({staging_.data(), size - in_room});
  }
  if (understood) return Progress::kMade;
  if (call != nullptr) call->End(CallEnd::kMalformed);
  return Progress::kBroken;
}

CallEnd Connection::EndOfConnection() const {
  if (!session_.established()) return CallEnd::kRefused;
  return session_.going_away() ? CallEnd::kUnsent : CallEnd::kLost;
}

void Connection::Finish(Call* call) {
  session_.Forget();
  // Bytes that are not sent yet refer to the body of the call, which may now be destroyed. A call
  // that ended before all its bytes were sent therefore makes the connection unusable.
  if (unflushed_ > 0 || call->end() != CallEnd::kAnswered || call->unsent() > 0) broken_ = true;
  // Sends the answers to the server's PING and SETTINGS now. The connection may be idle for a long
  // time afterwards.
  if (unflushed_ == 0) Flush(nullptr);
}

std::unique_ptr<Connection> ConnectionPool::Take() {
  for (std::atomic<Connection*>& slot : idle_) {
    std::unique_ptr<Connection> connection(slot.exchange(nullptr, std::memory_order_acq_rel));
    if (connection != nullptr && connection->Usable()) return connection;
  }
  return nullptr;
}

void ConnectionPool::Give(std::unique_ptr<Connection> connection) {
  for (std::atomic<Connection*>& slot : idle_) {
    Connection* expected = nullptr;
    if (slot.compare_exchange_strong(expected, connection.get(), std::memory_order_acq_rel)) {
      static_cast<void>(connection.release());
      return;
    }
  }
}

void ConnectionPool::Clear() {
  for (std::atomic<Connection*>& slot : idle_) {
    std::unique_ptr<Connection> connection(slot.exchange(nullptr, std::memory_order_acq_rel));
  }
}

}  // namespace cccl_cache
