// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "base/poll.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::child_process_test {
namespace {

using Catch::Matchers::StartsWith;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{60'000};  // only spent by a failing test

/// A shell script that runs as a child, and the other end of its descriptor 3.
class Script {
 public:
  explicit Script(const std::string& text) {
    const std::string path = directory_.Write("script", "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    here_ = FileDescriptor(fds[0]);
    const FileDescriptor there(fds[1]);
    char variable[] = "GIVEN=it";
    char* environment[] = {variable, nullptr};
    auto started = ChildProcess::Start(path, there.get(), 3, environment);
    INFO(strerror(errno));
    REQUIRE(started);
    child.emplace(*std::move(started));
  }

  /// Returns the script's output on descriptor 3, up to the end or a newline.
  std::string Says() {
    std::string text;
    char byte = 0;
    while (WaitReadable(here_.get(), kPatience) && read(here_.get(), &byte, 1) == 1) {
      if (byte == '\n') break;
      text += byte;
    }
    return text;
  }

  std::optional<ChildProcess> child;

 private:
  const daemon::TemporaryDirectory directory_;
  FileDescriptor here_;
};

constexpr const char* kWaits = "read x <&3";

TEST_CASE("the end of a child is reported once") {
  Script script("exit 7");
  CHECK(script.child->End(kPatience) == "exit status 7");
  CHECK(script.child->End(kPatience) == "an earlier end");
  CHECK(script.child->Ended());
}

TEST_CASE("the end of a child by a signal has the signal's name") {
  Script script("kill -SEGV $$");
  CHECK(script.child->End(kPatience) == "SIGSEGV");
}

TEST_CASE("a child that does not end in time is killed") {
  Script script(kWaits);
  CHECK_FALSE(script.child->Ended());
  CHECK(script.child->End(milliseconds(0)) == "SIGKILL");
}

TEST_CASE("the end of a child is visible before it is reaped, and stays visible") {
  Script script("echo ends >&3");
  while (!script.child->Ended()) static_cast<void>(script.Says());
  CHECK(script.child->Ended());
  CHECK(script.child->End(milliseconds(0)) == "exit status 0");
}

TEST_CASE("the destructor kills and reaps the child") {
  Script script(std::string("echo $$ >&3\n") + kWaits);
  const pid_t pid = std::stoi(script.Says());
  REQUIRE(kill(pid, 0) == 0);
  script.child.reset();
  CHECK(waitpid(pid, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("a child has only the given environment and descriptor, and /dev/null as its streams") {
  setenv("CCCL_CACHED_TEST", "secret", 1);
  constexpr int kOpen = 77;
  REQUIRE(dup2(STDERR_FILENO, kOpen) == kOpen);
  Script script(
      "echo \"[$CCCL_CACHED_TEST$GIVEN]\" >&3\n"
      "test -e /proc/$$/fd/77 && echo open >&3 || echo closed >&3\n"
      "for fd in 0 1 2; do stream=$(readlink /proc/$$/fd/$fd); echo $stream >&3; done");
  CHECK(script.Says() == "[it]");
  CHECK(script.Says() == "closed");
  for (int stream = 0; stream < 3; ++stream) CHECK(script.Says() == "/dev/null");
  close(kOpen);
  unsetenv("CCCL_CACHED_TEST");
}

TEST_CASE("a child leads a session, and neither ignores nor blocks a signal") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGTERM);
  sigset_t mask;
  REQUIRE(pthread_sigmask(SIG_BLOCK, &some, &mask) == 0);
  Script script(
      "read -r pid comm state parent group session rest </proc/$$/stat\n"
      "test $session = $$ && echo leads >&3\n"
      "while read -r name value; do\n"
      "  case $name in SigBlk:|SigIgn:) echo $name$value >&3;; esac\n"
      "done </proc/$$/status");
  CHECK(script.Says() == "leads");
  // All signals except the C library's own, 32 and 33.
  constexpr uint64_t kSignals = ~(uint64_t{3} << 31);
  for (const std::string name : {"SigBlk:", "SigIgn:"}) {
    const std::string line = script.Says();
    REQUIRE_THAT(line, StartsWith(name));
    CHECK((std::stoull(line.substr(name.size()), nullptr, 16) & kSignals) == 0);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  std::signal(SIGPIPE, before);
}

TEST_CASE("errno tells why a program can't be run") {
  char* none[] = {nullptr};
  CHECK_FALSE(ChildProcess::Start("/nowhere/worker", 0, 0, none));
  CHECK(errno == ENOENT);
}

TEST_CASE("a child is killed even if the program has reused its descriptor number") {
  Script script(kWaits);
  const FileDescriptor other(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::optional<int> taken;  // none before Linux 6.9
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(each.path(), error);
    if (target.find("pidfd") != std::string::npos) taken = std::stoi(each.path().filename());
  }
  if (taken) REQUIRE(dup2(other.get(), *taken) == *taken);
  CHECK_FALSE(script.child->Ended());
  CHECK(script.child->End() == "SIGKILL");
  script.child.reset();
  if (taken) CHECK(close(*taken) == 0);  // the program's file is still open
}

TEST_CASE("a child that the program has reaped itself is not ended again") {
  Script script("exit 7");
  REQUIRE(waitpid(script.child->pid(), nullptr, 0) == script.child->pid());
  CHECK(script.child->Ended());
  CHECK(script.child->End() == "an unknown end");
}

TEST_CASE("a moved child process is killed once, by its new owner") {
  Script script(kWaits);
  ChildProcess moved(*std::move(script.child));
  CHECK(script.child->End() == "an earlier end");
  CHECK(moved.owned());
  CHECK(moved.End() == "SIGKILL");
}

TEST_CASE("a wait status has a name, or at least a number") {
  CHECK(DescribeWaitStatus(W_EXITCODE(3, 0)) == "exit status 3");
  CHECK(DescribeWaitStatus(W_EXITCODE(0, SIGKILL)) == "SIGKILL");
  CHECK(DescribeWaitStatus(W_EXITCODE(0, 40)) == "signal 40");
}

pid_t ForkOneThatWaits() {
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  while (pid == 0) pause();
  return pid;
}

TEST_CASE("KillProcess kills the process of a pidfd, and the pidfd is closed on exec") {
  const pid_t pid = ForkOneThatWaits();
  const FileDescriptor pidfd = OpenPidfd(pid);
  REQUIRE(pidfd.valid());
  CHECK((fcntl(pidfd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  KillProcess(pidfd.get());
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
  KillProcess(pidfd.get());  // already dead, so no other process may be killed
}

TEST_CASE("a missing process has no pidfd, and errno has the reason") {
  const FileDescriptor pidfd = OpenPidfd(0);
  const int error = errno;
  CHECK_FALSE(pidfd.valid());
  CHECK(error == EINVAL);
}

}  // namespace
}  // namespace cccl_cache::child_process_test
