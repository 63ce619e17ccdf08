// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/packet.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    a = FileDescriptor(ends[0]);
    b = FileDescriptor(ends[1]);
  }
  FileDescriptor a;
  FileDescriptor b;
};

}  // namespace

TEST_CASE("a packet arrives whole, with its descriptors closed on exec") {
  const Pair pair;
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const FileDescriptor in(pipe_ends[0]);
  const FileDescriptor out(pipe_ends[1]);
  const int fds[] = {in.get(), out.get()};
  REQUIRE(SendPacket(pair.a.get(), "hello", fds));
  const Result<Packet> packet = ReceivePacket(pair.b.get());
  REQUIRE(packet);
  CHECK(packet->bytes == "hello");
  CHECK_FALSE(packet->end);
  REQUIRE(packet->fds.size() == 2);
  CHECK((fcntl(packet->fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write(packet->fds[1].get(), "x", 1) == 1);
  char byte = 0;
  CHECK(read(in.get(), &byte, 1) == 1);
}

TEST_CASE("a closed peer is the end, not an error and not a signal") {
  Pair pair;
  pair.a.Close();
  const Result<Packet> packet = ReceivePacket(pair.b.get());
  REQUIRE(packet);
  CHECK(packet->end);
  CHECK_FALSE(SendPacket(pair.b.get(), "x"));
}

TEST_CASE("a packet over the bounds is an error") {
  const Pair pair;
  const std::string big(kMaxPacketBytes + 1, 'x');
  REQUIRE(send(pair.a.get(), big.data(), big.size(), 0) == static_cast<ssize_t>(big.size()));
  CHECK_FALSE(ReceivePacket(pair.b.get()));
}

TEST_CASE("more descriptors than are allowed are an error, and none of them stays open") {
  const Pair pair;
  constexpr size_t kMany = kMaxPacketFds + 3;
  alignas(cmsghdr) char control[CMSG_SPACE(kMany * sizeof(int))] = {};
  char byte = 'x';
  iovec data{&byte, 1};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(kMany * sizeof(int));
  for (size_t i = 0; i < kMany; ++i) reinterpret_cast<int*>(CMSG_DATA(rights))[i] = pair.a.get();
  REQUIRE(sendmsg(pair.a.get(), &header, 0) == 1);
  const int next = dup(pair.a.get());
  close(next);
  CHECK_FALSE(ReceivePacket(pair.b.get()));
  const int after = dup(pair.a.get());
  close(after);
  CHECK(after == next);
}
