// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/cli_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/temporary_directory.h"

using cccl_cached::TemporaryDirectory;

namespace {

[[noreturn]] void Become(const std::vector<std::string>& arguments, const std::string& directory,
                         const TemporaryDirectory& streams,
                         const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto connect = [&](const char* name, int flags, int fd) {
    const int file = open((streams / name).c_str(), flags, 0600);
    if (file < 0 || dup2(file, fd) < 0) _exit(127);
  };
  connect("in", O_RDONLY, STDIN_FILENO);
  connect("out", O_WRONLY | O_CREAT, STDOUT_FILENO);
  connect("err", O_WRONLY | O_CREAT, STDERR_FILENO);
  if (chdir(directory.c_str()) != 0) _exit(127);
  clearenv();
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words = {const_cast<char*>(CCCL_CACHE_CLI)};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

}  // namespace

CliResult RunCli(const std::vector<std::string>& arguments, const std::string& directory,
                 const std::string& input,
                 const std::vector<std::pair<std::string, std::string>>& environment) {
  const TemporaryDirectory streams;
  streams.Write("in", input);
  const pid_t child = fork();
  if (child == 0) Become(arguments, directory, streams, environment);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Contents(streams / "out"),
          Contents(streams / "err")};
}

std::string Contents(const std::string& path) {
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  return contents.str();
}
