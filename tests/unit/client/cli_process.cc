// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/cli_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/support/temporary_directory.h"

using cccl_cache::daemon::TemporaryDirectory;

namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  return words;
}

/// Returns -1 if the command can't be started. Does not use fork: the server's threads run on, and
/// AddressSanitizer's allocator could stay locked in the child.
pid_t Start(const std::vector<std::string>& arguments, const std::string& directory,
            const TemporaryDirectory& streams,
            const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> command = {CCCL_CACHE_CLI};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + '=' + value);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto connect = [&](int fd, const char* name, int flags) {
    posix_spawn_file_actions_addopen(&actions, fd, (streams / name).c_str(), flags, 0600);
  };
  connect(STDIN_FILENO, "in", O_RDONLY);
  connect(STDOUT_FILENO, "out", O_WRONLY | O_CREAT);
  connect(STDERR_FILENO, "err", O_WRONLY | O_CREAT);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t child = -1;
  const int failed = posix_spawn(&child, CCCL_CACHE_CLI, &actions, nullptr,
                                 Pointers(command).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -1;
}

}  // namespace

CliResult RunCli(const std::vector<std::string>& arguments, const std::string& directory,
                 const std::string& input,
                 const std::vector<std::pair<std::string, std::string>>& environment) {
  const TemporaryDirectory streams;
  streams.Write("in", input);
  const pid_t child = Start(arguments, directory, streams, environment);
  int status = 0;
  const bool ended = child > 0 && waitpid(child, &status, 0) == child;
  return {ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1, Contents(streams / "out"),
          Contents(streams / "err")};
}

std::string Contents(const std::string& path) {
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  return contents.str();
}
