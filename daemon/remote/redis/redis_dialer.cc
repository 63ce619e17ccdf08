// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_dialer.h"

#include <event2/util.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace cccl_cache::daemon {
namespace {

using AddressList = std::unique_ptr<evutil_addrinfo, FreeHandle<evutil_freeaddrinfo>>;

/// Turns on TCP keep-alive, so that a lost machine is noticed even on an idle connection.
void KeepAlive(int fd) {
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  const std::pair<int, int> settings[] = {
      {TCP_KEEPIDLE, 60}, {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 3}, {TCP_NODELAY, 1}};
  for (const auto& [name, value] : settings) {
    setsockopt(fd, IPPROTO_TCP, name, &value, sizeof(value));
  }
}

std::string_view WayOut(int error) {
  if (error == EAFNOSUPPORT || error == EPERM) {
    return "if the daemon is a service, let its unit use the network (RestrictAddressFamilies, "
           "IPAddressDeny)";
  }
  if (error == EACCES) return "let the daemon's user open the socket";
  return "start it there, or correct the URL";
}

}  // namespace

RedisDialer::RedisDialer(event_base* base, const RedisAddress& address,
                         const std::string& resolv_conf, Then then)
    : base_(base), address_(address), resolv_conf_(resolv_conf), then_(std::move(then)) {}

void RedisDialer::Start() {
  if (!address_.path.empty()) {
    AddUnixAddress();
    return TryNext();
  }
  // A numeric address is parsed here. libevent's DNS would close a socket before it removes it from
  // epoll, and another thread could have reused the descriptor's number by then.
  evutil_addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = EVUTIL_AI_NUMERICHOST;
  evutil_addrinfo* found = nullptr;
  const std::string port = std::to_string(address_.port);
  const int error = evutil_getaddrinfo(address_.host.c_str(), port.c_str(), &hints, &found);
  const AddressList owned(found);
  if (error == 0) return Resolved(0, found);
  Resolve();
}

void RedisDialer::Stop() {
  if (Lookup* const lookup = std::exchange(lookup_, nullptr)) {
    lookup->dialer = nullptr;
    if (lookup->request != nullptr) evdns_getaddrinfo_cancel(lookup->request);
  }
  connecting_.reset();
  socket_.Close();
  addresses_.clear();
}

std::string RedisDialer::GiveUp() {
  ++timeouts_;
  std::string what =
      lookup_ == nullptr ? "it did not answer" : "DNS said nothing of " + address_.host;
  Stop();
  return what;
}

void RedisDialer::AddUnixAddress() {
  Address address;
  auto* const local = reinterpret_cast<sockaddr_un*>(&address.bytes);
  local->sun_family = AF_UNIX;
  address_.path.copy(local->sun_path, sizeof(local->sun_path) - 1);
  address.size = sizeof(sockaddr_un);
  addresses_.push_back(address);
}

/// Starts to resolve the server's name. The system's DNS settings are read each time, because wrong
/// settings may have caused the last failure.
void RedisDialer::Resolve() {
  dns_.reset(evdns_base_new(base_, 0));
  if (dns_ == nullptr) return Fail("names can't be resolved: no descriptor or memory is left");
  // Without the file, libevent asks a server at 127.0.0.1.
  evdns_base_resolv_conf_parse(dns_.get(), DNS_OPTIONS_ALL, resolv_conf_.c_str());
  evutil_addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_protocol = IPPROTO_TCP;
  hints.ai_flags = EVUTIL_AI_ADDRCONFIG;
  const auto answered = [](int error, evutil_addrinfo* found, void* asked) {
    const AddressList owned(found);
    const std::unique_ptr<Lookup> lookup(static_cast<Lookup*>(asked));
    if (lookup->dialer == nullptr) return;
    lookup->dialer->lookup_ = nullptr;
    lookup->dialer->Resolved(error, found);
  };
  auto lookup = std::make_unique<Lookup>();
  lookup->dialer = this;
  lookup_ = lookup.get();
  const std::string port = std::to_string(address_.port);
  Lookup* const asked = lookup.release();
  evdns_getaddrinfo_request* const request =
      evdns_getaddrinfo(dns_.get(), address_.host.c_str(), port.c_str(), &hints, answered, asked);
  if (request != nullptr) asked->request = request;  // null: `answered` has deleted the Lookup
}

void RedisDialer::Resolved(int error, const evutil_addrinfo* found) {
  if (error != 0) {
    return Fail(fmt::format("{} can't be resolved ({}): correct the name in the URL, or DNS",
                            address_.host, evutil_gai_strerror(error)));
  }
  for (; found != nullptr; found = found->ai_next) {
    Address address;
    if (found->ai_addrlen > sizeof(address.bytes)) continue;
    std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
    address.size = static_cast<socklen_t>(found->ai_addrlen);
    addresses_.push_back(address);
  }
  // An address that timed out is tried last in the next attempt.
  if (!addresses_.empty()) {
    std::rotate(addresses_.begin(),
                addresses_.begin() + static_cast<ptrdiff_t>(timeouts_ % addresses_.size()),
                addresses_.end());
  }
  last_error_ = EADDRNOTAVAIL;  // the error if there is no address
  TryNext();
}

/// Tries one address after another until a connection is in progress.
void RedisDialer::TryNext() {
  while (!addresses_.empty()) {
    const Address address = addresses_.front();
    addresses_.pop_front();
    if (Try(address)) return;
    last_error_ = errno;
  }
  Fail(fmt::format("can't connect ({}): {}", std::strerror(last_error_), WayOut(last_error_)));
}

bool RedisDialer::Try(const Address& address) {
  connecting_.reset();
  const int family = address.bytes.ss_family;
  socket_ = FileDescriptor(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_.valid()) return false;
  if (family != AF_UNIX) KeepAlive(socket_.get());
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) ==
      0) {
    then_(std::move(socket_));
    return true;
  }
  if (errno != EINPROGRESS) return false;
  const auto finish = [](evutil_socket_t /*fd*/, short /*what*/, void* dialer) {
    static_cast<RedisDialer*>(dialer)->FinishTry();
  };
  connecting_.reset(event_new(base_, socket_.get(), EV_WRITE, finish, this));
  return connecting_ != nullptr && event_add(connecting_.get(), nullptr) == 0;
}

void RedisDialer::FinishTry() {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) {
    connecting_.reset();
    return then_(std::move(socket_));
  }
  last_error_ = error;
  TryNext();
}

void RedisDialer::Fail(std::string why) {
  Stop();
  then_(Error{ErrorCode::kUnavailable, std::move(why)});
}

}  // namespace cccl_cache::daemon
