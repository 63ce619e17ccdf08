// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "tests/support/http2_frames.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::acceptor_test {
namespace {

TEST_CASE("peer credentials are those of the connected process") {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  FileDescriptor here(pair[0]);
  FileDescriptor there(pair[1]);
  const auto peer = ReadPeerCredentials(here.get());
  REQUIRE(peer.ok());
  CHECK(peer->uid == getuid());
  CHECK(peer->gid == getgid());
  CHECK(peer->pid == getpid());
  CHECK(peer->groups.size() == static_cast<size_t>(getgroups(0, nullptr)));
  CHECK(std::is_sorted(peer->groups.begin(), peer->groups.end()));
}

TEST_CASE("a descriptor that is no Unix socket has no peer credentials") {
  FileDescriptor file(dup(0));
  CHECK_FALSE(ReadPeerCredentials(file.get()).ok());
}

class NotedConnection final : public Connection {
 public:
  explicit NotedConnection(std::atomic<bool>& ended) : ended_(ended) {}
  ~NotedConnection() override { ended_ = true; }

 private:
  std::atomic<bool>& ended_;
};

/// Receives the available bytes by recvmsg, which applies the frame rules, as gRPC does.
ssize_t ReceiveOnce(int fd) {
  std::string buffer(4'096, '\0');
  iovec piece{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  return recvmsg(fd, &message, 0);
}

TEST_CASE("the acceptor counts an ended connection's calls until the server closes its socket") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  auto listener = ListeningSocket::Bind({path, 0600, {}});
  REQUIRE(listener.ok());
  std::vector<ListeningSocket> listeners;
  listeners.push_back(std::move(*listener));
  const auto now = FrameRules::Clock::now();
  const auto traffic = std::make_shared<UserTraffic>(TrafficLimits{.open_calls = 1}, now);
  std::promise<FileDescriptor> admitted;
  std::atomic<bool> ended = false;
  Acceptor acceptor(std::move(listeners), std::chrono::hours(1),
                    {.identify = [](int, const ListeningSocket&, Peer&) {},
                     .traffic_of = [&traffic](const Peer&) { return traffic; },
                     .admit =
                         [&](FileDescriptor socket, const Peer&) {
                           admitted.set_value(std::move(socket));
                           return std::make_unique<NotedConnection>(ended);
                         },
                     .cut_off = [](const Peer&, const FrameRule*) {},
                     .tick = [] {},
                     .tell_problem = [](const std::string&) {}});
  REQUIRE(acceptor.Start().ok());
  FileDescriptor client(ConnectRaw(path));
  FileDescriptor served = admitted.get_future().get();
  const std::string sent = kPreface + Frame(kHeadersFrame, kEndOfHeaders, 100);
  REQUIRE(send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL) > 0);
  REQUIRE(ReceiveOnce(served.get()) > 0);
  client.Close();
  REQUIRE(Eventually([&ended] { return ended.load(); }));
  // The rate limit of cancelled calls has recovered by then.
  const auto later = now + std::chrono::hours(1);
  CHECK_FALSE(traffic->OpenCall(later));
  served.Close();
  CHECK(Eventually([&] { return traffic->OpenCall(later); }));
}

TEST_CASE("a listener for containers is closed once another socket is at its path") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  const std::string moved = directory.path() + "/moved";
  auto listener = ListeningSocket::Bind({path, 0600, {}, /*for_containers=*/true});
  REQUIRE(listener.ok());
  std::vector<ListeningSocket> listeners;
  listeners.push_back(std::move(*listener));
  std::promise<void> admitted;
  std::promise<std::string> told;
  std::atomic<bool> ended = false;
  const auto traffic = std::make_shared<UserTraffic>(TrafficLimits{}, FrameRules::Clock::now());
  Acceptor acceptor(std::move(listeners), std::chrono::hours(1),
                    {.identify = [](int, const ListeningSocket&, Peer&) {},
                     .traffic_of = [&traffic](const Peer&) { return traffic; },
                     .admit =
                         [&](FileDescriptor, const Peer&) {
                           admitted.set_value();
                           return std::make_unique<NotedConnection>(ended);
                         },
                     .cut_off = [](const Peer&, const FrameRule*) {},
                     .tick = [] {},
                     .tell_problem =
                         [&told](const std::string& problem) {
                           if (!problem.empty()) told.set_value(problem);
                         }});
  REQUIRE(acceptor.Start().ok());
  const FileDescriptor before(ConnectRaw(path));
  admitted.get_future().get();
  REQUIRE(rename(path.c_str(), moved.c_str()) == 0);
  const auto other = ListeningSocket::Bind({path, 0600, {}});
  REQUIRE(other.ok());
  const FileDescriptor relay(ConnectRaw(moved));  // like a relay that passes on other clients'
                                                  // bytes
  CHECK(IsClosedByPeer(relay.get()));
  CHECK(IsClosedByPeer(before.get()));
  CHECK(told.get_future().get().find("read-only") != std::string::npos);
  CHECK(ConnectRaw(moved) == -1);
}

TEST_CASE("a connection of a node user waits for at most two connections of containers") {
  const TemporaryDirectory directory;
  const std::string containers = directory / "containers/socket";
  const std::string node = directory / "node/socket";
  std::vector<ListeningSocket> listeners;
  listeners.push_back(
      ListeningSocket::Bind({containers, 0600, {}, /*for_containers=*/true}).value());
  listeners.push_back(ListeningSocket::Bind({node, 0600, {}}).value());
  constexpr size_t kOfContainers = 20;
  std::promise<void> first;
  std::promise<void> all_wait;
  std::promise<void> done;
  std::vector<bool> of_containers;
  Acceptor acceptor(std::move(listeners), std::chrono::hours(1),
                    {.identify =
                         [&](int, const ListeningSocket& listener, Peer&) {
                           of_containers.push_back(listener.for_containers());
                           if (of_containers.size() == 1) {
                             first.set_value();
                             all_wait.get_future().wait();
                           }
                           if (of_containers.size() == kOfContainers + 1) done.set_value();
                         },
                     .traffic_of = [](const Peer&) { return nullptr; },
                     .admit = [](FileDescriptor, const Peer&) { return nullptr; },
                     .cut_off = [](const Peer&, const FrameRule*) {},
                     .tick = [] {},
                     .tell_problem = [](const std::string&) {}});
  REQUIRE(acceptor.Start().ok());
  std::vector<FileDescriptor> clients;
  clients.emplace_back(ConnectRaw(containers));
  first.get_future().wait();
  while (clients.size() < kOfContainers) clients.emplace_back(ConnectRaw(containers));
  clients.emplace_back(ConnectRaw(node));
  all_wait.set_value();
  done.get_future().wait();
  CHECK(std::ranges::find(of_containers, false) - of_containers.begin() <= 2);
}

}  // namespace
}  // namespace cccl_cache::daemon::acceptor_test
