// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/spawned_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "tests/support/temporary_directory.h"

namespace spawned_process_test {

using cccl_cache::SpawnedProcess;

namespace {

/// A script whose standard input is one end of a pair of sockets.
struct Scene {
  explicit Scene(const std::string& script) {
    path = directory.Write("script", "#!/bin/sh\n" + script + "\n");
    chmod(path.c_str(), 0700);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
    auto started = SpawnedProcess::Start(path, sockets[1]);
    REQUIRE(started.ok());
    process.emplace(*std::move(started));
    close(sockets[1]);
  }
  ~Scene() { close(sockets[0]); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  /// What it writes, until it closes its end.
  [[nodiscard]] std::string Heard() const {
    std::string all;
    std::array<char, 512> piece{};
    for (ssize_t size = 0; (size = read(sockets[0], piece.data(), piece.size())) > 0;) {
      all.append(piece.data(), static_cast<size_t>(size));
    }
    return all;
  }
  /// As soon as it has written so much.
  void WaitFor(size_t bytes) const {
    std::string ignored(bytes, '\0');
    REQUIRE(recv(sockets[0], ignored.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes));
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  std::string path;
  std::array<int, 2> sockets{};
  std::optional<SpawnedProcess> process;
};

/// The one child of this thread.
pid_t OnlyChild() {
  pid_t child = 0;
  std::ifstream("/proc/thread-self/children") >> child;
  return child;
}

/// The line of a process' status that begins so.
std::string StatusLine(pid_t process, const std::string& beginning) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with(beginning)) {
  }
  return line;
}

}  // namespace

TEST_CASE("the child inherits its input alone, and of the environment only the needed variables") {
  setenv("SECRET", "1", 1);
  setenv("CCCL_CACHED_LOG_LEVEL", "info", 1);
  const Scene scene("env >&0; echo nobody reads this; echo nor this >&2");
  unsetenv("SECRET");
  unsetenv("CCCL_CACHED_LOG_LEVEL");
  const std::string heard = scene.Heard();
  CHECK(heard.find("SECRET") == std::string::npos);
  CHECK(heard.find("CCCL_CACHED_LOG_LEVEL=info\n") != std::string::npos);
  CHECK(heard.find("nobody") == std::string::npos);
}

TEST_CASE("the child's end has its exit status or its signal") {
  Scene exits("exit 7");
  CHECK(exits.Heard().empty());
  // Either the kill or its own end may come first.
  const std::string end = exits.process->End();
  CHECK((end == "exit status 7" || end == "signal 9"));
  Scene dies("echo >&0; exec sleep 1000");
  dies.WaitFor(1);
  CHECK(dies.process->End() == "signal 9");
  CHECK(dies.process->End() == "an earlier end");
}

TEST_CASE("the child has its own process group and blocks no signal") {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  const cccl_cache::daemon::TemporaryDirectory directory;
  // No shell: that would change its mask by itself.
  const std::string path = directory.Write("script", "#!/usr/bin/tail -f\n");
  chmod(path.c_str(), 0700);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto process = SpawnedProcess::Start(path, STDIN_FILENO);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  REQUIRE(process.ok());
  const pid_t child = OnlyChild();
  CHECK(getpgid(child) == child);
  CHECK(StatusLine(child, "SigBlk:") == "SigBlk:\t0000000000000000");
}

TEST_CASE("a child is ended with its object") {
  std::optional<int> socket;
  {
    Scene scene("echo >&0; exec sleep 1000");
    scene.WaitFor(1);
    socket = dup(scene.sockets[0]);
  }
  char byte = 0;
  CHECK(read(*socket, &byte, 1) == 0);  // the other end is closed everywhere
  close(*socket);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);  // and no child is left
}

TEST_CASE("a child is ended even if the program has reused its descriptor number") {
  Scene scene("echo >&0; exec sleep 1000");
  scene.WaitFor(1);
  std::optional<int> taken;  // none before Linux 6.9
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(each.path(), error);
    if (target.find("pidfd") != std::string::npos) taken = std::stoi(each.path().filename());
  }
  if (taken) REQUIRE(dup2(scene.sockets[0], *taken) == *taken);
  CHECK(scene.process->End() == "signal 9");
  scene.process.reset();
  if (taken) CHECK(close(*taken) == 0);  // it was left open
}

TEST_CASE("a child that was moved is ended once, by its new owner") {
  Scene scene("echo >&0; exec sleep 1000");
  scene.WaitFor(1);
  SpawnedProcess moved(*std::move(scene.process));
  CHECK(scene.process->End() == "an earlier end");
  CHECK(moved.owned());
  CHECK(moved.End() == "signal 9");
}

TEST_CASE("a program that can't be run is named") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const auto started = SpawnedProcess::Start(directory / "absent", 0);
  REQUIRE_FALSE(started.ok());
  CHECK(started.error().message ==
        "running " + directory / "absent" + ": No such file or directory");
}

}  // namespace spawned_process_test
