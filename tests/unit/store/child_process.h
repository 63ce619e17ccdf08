// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

extern char** environ;

namespace cccl_cache::daemon::store_test {

/// Runs store_child with these arguments. The destructor kills it if it still runs.
class ChildProcess {
 public:
  explicit ChildProcess(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), STORE_CHILD);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    output_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (posix_spawn(&pid_, STORE_CHILD, &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
  }
  ~ChildProcess() {
    if (pid_ > 0) Kill();
    if (output_ >= 0) close(output_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Returns the next line of its output, or "" at the end.
  std::string ReadLine() {
    std::string line;
    char c;
    while (read(output_, &c, 1) == 1 && c != '\n') line.push_back(c);
    return line;
  }
  /// Returns the status from waitpid.
  int Wait() {
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  int Kill() {
    kill(pid_, SIGKILL);
    return Wait();
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace cccl_cache::daemon::store_test
