// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/pidfd.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>

namespace cccl_cache::daemon {
namespace {

pid_t ForkOneThatWaits() {
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  while (pid == 0) pause();
  return pid;
}

TEST_CASE("a process is killed by its handle, and no other program gets that") {
  const pid_t pid = ForkOneThatWaits();
  const FileDescriptor pidfd = OpenPidfd(pid);
  REQUIRE(pidfd.valid());
  CHECK((fcntl(pidfd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  KillProcess(pidfd);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
  KillProcess(pidfd);  // it is dead already: nobody else is meant
}

TEST_CASE("a process that is none has no handle, and why is told") {
  const FileDescriptor pidfd = OpenPidfd(0);
  const int error = errno;
  CHECK_FALSE(pidfd.valid());
  CHECK(error == EINVAL);
}

}  // namespace
}  // namespace cccl_cache::daemon
