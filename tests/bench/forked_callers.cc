// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/forked_callers.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <vector>

namespace cccl_cache::daemon {
namespace {

/// Both ends of a pipe.
class Pipe {
 public:
  Pipe() { valid_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    CloseWriter();
    if (valid_) close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  /// Returns true if a byte came, false if all writers are gone.
  [[nodiscard]] bool Read() const {
    char byte = 0;
    return read(ends_[0], &byte, 1) == 1;
  }
  [[nodiscard]] bool Write() const { return write(ends_[1], "x", 1) == 1; }
  void CloseWriter() {
    if (valid_ && !writer_closed_) close(ends_[1]);
    writer_closed_ = true;
  }

 private:
  std::array<int, 2> ends_{};
  bool valid_ = false;
  bool writer_closed_ = false;
};

[[noreturn]] void RunChild(int number, const std::function<bool(int)>& task, Pipe& ready,
                           Pipe& go) {
  go.CloseWriter();
  const bool announced = ready.Write();
  (void)go.Read();  // ends when the parent closes its end
  _exit(announced && task(number) ? 0 : 1);
}

}  // namespace

double RunForked(int processes, const std::function<bool(int)>& task) {
  Pipe ready;
  Pipe go;
  std::vector<pid_t> pids;
  for (int number = 0; number < processes; ++number) {
    const pid_t pid = fork();
    if (pid == 0) RunChild(number, task, ready, go);
    if (pid > 0) pids.push_back(pid);
  }
  ready.CloseWriter();
  bool failed = static_cast<int>(pids.size()) != processes;
  for (size_t left = pids.size(); left > 0 && ready.Read();) --left;
  const auto begin = std::chrono::steady_clock::now();
  go.CloseWriter();
  for (const pid_t pid : pids) {
    int status = 0;
    failed |= waitpid(pid, &status, 0) != pid || status != 0;
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return failed ? -1 : took.count();
}

}  // namespace cccl_cache::daemon
