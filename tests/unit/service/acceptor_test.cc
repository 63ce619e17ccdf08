// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/file_descriptor.h"

namespace cccl_cache::daemon::acceptor_test {
namespace {

TEST_CASE("the kernel tells who is at the other end") {
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

TEST_CASE("a descriptor that is no Unix socket is an error") {
  FileDescriptor file(dup(0));
  CHECK_FALSE(ReadPeerCredentials(file.get()).ok());
}

}  // namespace
}  // namespace cccl_cache::daemon::acceptor_test
