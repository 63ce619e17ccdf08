// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_processes ROUNDS COMMAND... -- COMMAND... [-- COMMAND...]...
//
// Runs the commands in turn, each in its own process, and times them from start to end. The sides
// are called 0, 1, ...
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

extern char** environ;

namespace {

using Command = std::vector<char*>;

std::vector<Command> Split(char** begin, char** end) {
  std::vector<Command> commands(1);
  for (char** word = begin; word != end; ++word) {
    if (std::string_view(*word) == "--") {
      commands.emplace_back();
    } else {
      commands.back().push_back(*word);
    }
  }
  for (Command& command : commands) command.push_back(nullptr);
  return commands;
}

/// Runs the command. Returns its time in microseconds, negative if it could not be run or failed.
double Time(const Command& command) {
  const auto begin = std::chrono::steady_clock::now();
  pid_t pid = 0;
  int status = 0;
  if (posix_spawnp(&pid, command[0], nullptr, nullptr, command.data(), environ) != 0 ||
      waitpid(pid, &status, 0) != pid || status != 0) {
    std::fprintf(stderr, "%s: status %d\n", command[0], status);
    return -1;
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_processes ROUNDS COMMAND... [-- COMMAND...]...\n");
    return 2;
  }
  const std::vector<Command> commands = Split(argv + 2, argv + argc);
  for (const Command& command : commands) {
    if (command.size() < 2 || Time(command) < 0) return 5;  // a first run, to warm up
  }
  for (int round = 0; round < std::atoi(argv[1]); ++round) {
    for (size_t side = 0; side < commands.size(); ++side) {
      const double time = Time(commands[side]);
      if (time < 0) return 5;
      std::printf("%zu\t%.2f\n", side, time);
    }
  }
}
