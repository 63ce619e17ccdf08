// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// The command `metrics`, a web server for Prometheus. It is separate from the daemon, so that the
// daemon contains no web server.
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unix_socket.h"
#include "cccl_cache/client.h"
#include "cli/stats/formats.h"
#include "cli/terminal/command.h"

namespace cccl_cache::cli {
namespace {

constexpr std::chrono::seconds kDaemonPatience{5};
constexpr int kScraperSeconds = 10;
constexpr size_t kMaxRequest = 16 << 10;

template <auto kFree>
struct Free {
  template <typename Type>
  void operator()(Type* pointer) const {
    kFree(pointer);
  }
};
using EventBase = std::unique_ptr<event_base, Free<event_base_free>>;
using HttpServer = std::unique_ptr<evhttp, Free<evhttp_free>>;
using Event = std::unique_ptr<event, Free<event_free>>;

struct Metrics {
  std::string socket;  ///< path of the daemon's socket; empty for the default
  bool by_user = false;
};

void Answer(evhttp_request* request, int code, const char* type, std::string_view text) {
  evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", type);
  evbuffer_add(evhttp_request_get_output_buffer(request), text.data(), text.size());
  evhttp_send_reply(request, code, nullptr, nullptr);
}

void AnswerMetrics(evhttp_request* request, void* context) {
  const Metrics& metrics = *static_cast<const Metrics*>(context);
  const auto fail = [request](const Error& error) {
    Answer(request, HTTP_SERVUNAVAIL, "text/plain; charset=utf-8", error.message + "\n");
  };
  Expected<Client> client = Client::Open(metrics.socket);
  if (!client.ok()) return fail(client.error());
  const Expected<Statistics> stats = AskStatistics(*client, kDaemonPatience, true);
  if (!stats.ok()) return fail(stats.error());
  Answer(request, HTTP_OK, "application/openmetrics-text; version=1.0.0; charset=utf-8",
         StatsOpenMetrics(*stats, metrics.by_user));
}

void AnswerOthers(evhttp_request* request, void* /*context*/) {
  Answer(request, HTTP_NOTFOUND, "text/plain; charset=utf-8", "see /metrics\n");
}

using FileId = std::pair<dev_t, ino_t>;

FileId FileIdOf(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 ? FileId{status.st_dev, status.st_ino} : FileId{};
}

Error WrongAddress(const std::string& address) {
  return {CCCL_CACHE_INVALID_REQUEST,
          "--listen " + address +
              ": a port of this machine (127.0.0.1:9464, [::1]:9464) or the absolute path of a "
              "socket is "
              "needed; for other machines, put a server with TLS and passwords in front, or let "
              "node_exporter read a file (stats --prometheus)"};
}

Error SystemError(const std::string& address) {
  return {CCCL_CACHE_UNAVAILABLE, "can't listen at " + address + ": " + std::strerror(errno)};
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, std::min(path.size(), sizeof(address.sun_path) - 1));
  return address;
}

/// Removes a socket file that an ended process has left. Returns false if a process still listens
/// there.
bool RemoveLeftSocket(const std::string& path) {
  struct stat before = {};
  if (lstat(path.c_str(), &before) != 0 || !S_ISSOCK(before.st_mode)) return true;
  if (IsServed(path)) return false;
  unlink(path.c_str());
  return true;
}

/// Creates a listening socket at the path. Returns its descriptor, which the caller must close.
Expected<evutil_socket_t> ListenAt(const std::string& path) {
  const sockaddr_un address = AddressOf(path);
  if (path != address.sun_path) return WrongAddress(path);
  if (!RemoveLeftSocket(path)) {
    return Error{CCCL_CACHE_UNAVAILABLE, "another program listens at " + path};
  }
  const evutil_socket_t listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto* const named = reinterpret_cast<const sockaddr*>(&address);
  if (listener < 0 || bind(listener, named, sizeof(address)) != 0 ||
      listen(listener, SOMAXCONN) != 0) {
    const Error error = SystemError(path);
    if (listener >= 0) close(listener);
    return error;
  }
  return listener;
}

/// Stops accepting connections for 0.1 s. libevent calls it after accepting failed because no
/// descriptor was free: the next attempt would fail at once too.
void Pause(evconnlistener* listener, void* /*context*/) {
  constexpr timeval kMoment = {0, 100'000};
  evconnlistener_disable(listener);
  const auto go_on = [](evutil_socket_t /*none*/, short /*what*/, void* paused) {
    evconnlistener_enable(static_cast<evconnlistener*>(paused));
  };
  event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, go_on, listener, &kMoment);
}

/// Returns the address without brackets if `host` is a loopback address such as "127.0.0.1" or
/// "[::1]". Returns "" for other hosts.
std::string LoopbackHost(std::string host) {
  in_addr four = {};
  in6_addr six = {};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == 127 ? host : "";
  }
  if (!host.starts_with('[') || !host.ends_with(']')) return "";
  host = host.substr(1, host.size() - 2);
  const bool known = inet_pton(AF_INET6, host.c_str(), &six) == 1;
  return known && IN6_IS_ADDR_LOOPBACK(&six) != 0 ? host : "";
}

/// Starts listening. Returns the URL or path to which clients connect. For port 0, the system
/// chooses a free port.
Expected<std::string> ListenTo(evhttp* server, const std::string& address) {
  if (address.starts_with('/')) {
    const Expected<evutil_socket_t> listener = ListenAt(address);
    if (!listener.ok()) return listener.error();
    evhttp_bound_socket* const bound = evhttp_accept_socket_with_handle(server, *listener);
    if (bound == nullptr) return SystemError(address);
    evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), Pause);
    return address;
  }
  const size_t colon = std::min(address.rfind(':'), address.size());
  const std::string host = LoopbackHost(address.substr(0, colon));
  const char* const end = address.data() + address.size();
  uint16_t port = 0;
  const auto read =
      std::from_chars(address.data() + std::min(colon + 1, address.size()), end, port);
  if (host.empty() || read.ec != std::errc() || read.ptr != end) return WrongAddress(address);
  evhttp_bound_socket* const bound = evhttp_bind_socket_with_handle(server, host.c_str(), port);
  if (bound == nullptr) return SystemError(address);
  evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), Pause);
  sockaddr_storage given = {};
  socklen_t given_size = sizeof(given);
  getsockname(evhttp_bound_socket_get_fd(bound), reinterpret_cast<sockaddr*>(&given), &given_size);
  const in_port_t given_port = given.ss_family == AF_INET6
                                   ? reinterpret_cast<const sockaddr_in6&>(given).sin6_port
                                   : reinterpret_cast<const sockaddr_in&>(given).sin_port;
  return "http://" + address.substr(0, colon) + ":" + std::to_string(ntohs(given_port)) +
         "/metrics";
}

int Run(const std::string& listen, bool by_user, const CommonOptions& common) {
  const Metrics metrics{common.socket, by_user};
  std::signal(SIGPIPE, SIG_IGN);  // a client may close its connection before the answer is written
  // libevent's log is turned off, because clients could fill it.
  event_set_log_callback([](int /*severity*/, const char* /*text*/) {});
  const EventBase base(event_base_new());
  const HttpServer server(base == nullptr ? nullptr : evhttp_new(base.get()));
  if (server == nullptr) return Fail(SystemError(listen), common);
  evhttp_set_allowed_methods(server.get(), EVHTTP_REQ_GET);
  evhttp_set_max_headers_size(server.get(), kMaxRequest);
  evhttp_set_max_body_size(server.get(), kMaxRequest);
  evhttp_set_timeout(server.get(), kScraperSeconds);
  evhttp_set_cb(server.get(), "/metrics", AnswerMetrics, const_cast<Metrics*>(&metrics));
  evhttp_set_gencb(server.get(), AnswerOthers, nullptr);
  const Expected<std::string> address = ListenTo(server.get(), listen);
  if (!address.ok()) {
    const bool wrong = address.error().status == CCCL_CACHE_INVALID_REQUEST;
    return wrong ? FailUsage(address.error().message, common) : Fail(address.error(), common);
  }
  const auto stop = [](evutil_socket_t /*signal*/, short /*what*/, void* running) {
    event_base_loopbreak(static_cast<event_base*>(running));
  };
  const Event terminated(evsignal_new(base.get(), SIGTERM, stop, base.get()));
  const Event interrupted(evsignal_new(base.get(), SIGINT, stop, base.get()));
  if (terminated != nullptr) event_add(terminated.get(), nullptr);
  if (interrupted != nullptr) event_add(interrupted.get(), nullptr);
  if (const int printed = Print(*address + "\n"); printed != kDone) return printed;
  const FileId own = FileIdOf(listen);
  event_base_dispatch(base.get());
  // Removes the socket file, unless another program has replaced it by its own since.
  if (listen.starts_with('/') && FileIdOf(listen) == own) unlink(listen.c_str());
  return kDone;
}

}  // namespace

void AddMetricsCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "metrics", "Serve the daemon's statistics to Prometheus, until it is ended");
  command->group("Daemon");
  command->footer("Example: cccl-cache-cli metrics --listen 127.0.0.1:9464");
  const auto listen = std::make_shared<std::string>("127.0.0.1:9464");
  command->add_option("--listen", *listen, "A port of this machine, or the path of a socket")
      ->capture_default_str();
  const auto by_user = std::make_shared<bool>(false);
  command->add_flag(
      "--by-user", *by_user,
      "Add the builds of each user and the deposits of each namespace, for everyone who "
      "can connect");
  command->callback(
      [listen, by_user, &common, exit_code] { *exit_code = Run(*listen, *by_user, common); });
}

}  // namespace cccl_cache::cli
