// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files/file_descriptor.h"
#include "base/poll.h"
#include "cli/doctor/check.h"

namespace cccl_cache::cli {
namespace {

constexpr size_t kMaxOutput = 16 << 10;
constexpr int kNotExecuted = 127;  ///< exit code if exec fails, as in shells

/// Returns `variables`, and those of this process's environment that have other names.
std::vector<std::string> WithOwn(const Variables& variables) {
  std::vector<std::string> all;
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string own = *each;
    const std::string name = own.substr(0, own.find('='));
    if (std::ranges::find(variables, name, &Variables::value_type::first) == variables.end()) {
      all.push_back(own);
    }
  }
  return all;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& each : texts) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs in the child process between fork and exec, so it makes only async-signal-safe calls.
[[noreturn]] void Become(char* const* words, char* const* variables, int kept, int output) {
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(each == kept ? output : null, each);
  }
  if (chdir("/") == 0) execve(words[0], words, variables);
  _exit(kNotExecuted);
}

}  // namespace

Ended Try(const std::vector<std::string>& words, const Variables& variables, int kept,
          std::chrono::milliseconds patience) {
  constexpr std::chrono::seconds kDeathPatience{1};  // a killed process may hang in a system call
  const std::vector<std::string> environment = WithOwn(variables);
  const std::vector<char*> arguments = Pointers(words);
  const std::vector<char*> values = Pointers(environment);
  Ended ended;
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ended;
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const pid_t child = fork();
  if (child == 0) Become(arguments.data(), values.data(), kept, writing.get());
  writing.Close();
  if (child < 0) return ended;
  setpgid(child, child);  // also done in the child: whichever process runs first creates the group
  const auto end = std::chrono::steady_clock::now() + patience;
  while (ended.output.size() < kMaxOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !WaitReadable(reading.get(), left)) break;
    std::array<char, 4096> piece = {};
    const ssize_t size = read(reading.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    ended.output.append(piece.data(), static_cast<size_t>(size));
  }
  kill(-child, SIGKILL);
  const FileDescriptor death(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  static_cast<void>(WaitReadable(death.get(), kDeathPatience));
  waitpid(child, &ended.status, WNOHANG);
  return ended;
}

std::string HowItEnded(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotExecuted) return "can't be executed";
  if (WIFEXITED(status)) return "ended with " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGKILL) return "did not finish";
  return "crashed (signal " + std::to_string(WTERMSIG(status)) + ")";
}

}  // namespace cccl_cache::cli
