// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/service/transport/acceptor.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::socket_closer_test {
namespace {

/// A TCP connection over loopback. A close of `end` waits for the other side, which reads nothing.
struct Lingering {
  FileDescriptor end;
  FileDescriptor other;

  Lingering() {
    const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(listener.get(), 1) == 0);
    REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    end = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(end.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    other = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(other.valid());
    const linger forever{1, 1'000'000};
    REQUIRE(setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &forever, sizeof(forever)) == 0);
    REQUIRE(fcntl(end.get(), F_SETFL, O_NONBLOCK) == 0);
    const std::array<char, 4096> bytes{};
    while (send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
  }
};

void SendDescriptor(int socket, int descriptor) {
  char byte = 0;
  iovec piece{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
  REQUIRE(sendmsg(socket, &message, MSG_NOSIGNAL) == 1);
}

TEST_CASE("a client's socket that can't be closed at once delays no other one") {
  std::vector<Lingering> lingering(3);
  std::vector<FileDescriptor> clients;
  SocketCloser closer;
  for (Lingering& each : lingering) {
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    clients.emplace_back(pair[0]);
    SendDescriptor(pair[0], each.end.get());
    each.end.Close();
    closer.Close(FileDescriptor(pair[1]));
  }
  for (const FileDescriptor& client : clients) CHECK(IsClosedByPeer(client.get()));
}

}  // namespace
}  // namespace cccl_cache::daemon::socket_closer_test
