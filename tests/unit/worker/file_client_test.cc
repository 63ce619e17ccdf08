// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/file_client.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "daemon/compile/protocol/frame.h"
#include "tests/unit/worker/answering_daemon.h"

namespace file_client_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

TEST_CASE("a name is asked for once, and its answer is kept") {
  AnsweringDaemon daemon({{"/a", {FileKind::kFile, 7, "text"}}, {"/d", {FileKind::kDirectory, 8}}});
  FileClient client(daemon.socket());
  for (int i = 0; i < 2; ++i) {
    CHECK(client.Ask("/a").kind == FileKind::kFile);
    CHECK(client.Ask("/a").identity == 7);
    CHECK(*client.Ask("/a").contents == "text");
    CHECK(client.Ask("/d").kind == FileKind::kDirectory);
    CHECK(client.Ask("/d").contents == nullptr);
    CHECK(client.Ask("/none").kind == FileKind::kAbsent);
  }
  CHECK(daemon.asked() == std::vector<std::string>{"/a", "/d", "/none"});
}

TEST_CASE("a name that can't be asked for is absent") {
  AnsweringDaemon daemon({});
  FileClient client(daemon.socket());
  CHECK(client.Ask("/" + std::string(1 << 16, 'x')).kind == FileKind::kAbsent);
  CHECK(client.Ask(std::string("/a\0b", 4)).kind == FileKind::kAbsent);
  CHECK(daemon.asked().empty());
}

namespace {

/// Returns the exit status of a process that asks and gets this packet as the answer. If the packet
/// is empty, the daemon has closed its socket.
int ExitOfWhoAsks(const std::string& packet) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  FileDescriptor daemon(ends[0]);
  const FileDescriptor worker(ends[1]);
  if (!packet.empty()) REQUIRE(SendPacket(daemon.get(), packet).ok());
  const pid_t pid = fork();
  if (pid == 0) {
    daemon.Close();
    FileClient client(worker.get());
    _exit(client.Ask("/a").kind == FileKind::kFile ? 0 : 1);
  }
  daemon.Close();
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a worker ends if its daemon is gone or sends malformed answers") {
  CHECK(ExitOfWhoAsks("") == kExitFilesLost);
  CHECK(ExitOfWhoAsks("nonsense") == kExitFilesLost);
  CHECK(ExitOfWhoAsks(EncodeFileAnswerHeader({FileKind::kFile, 7, 4}) + "tex") == kExitFilesLost);
}

}  // namespace file_client_test
