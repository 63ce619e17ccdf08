// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "base/file_descriptor.h"
#include "cccl_cache/expected.h"

namespace cccl_cache {

/// A child process that ends with this object: killed if need be, and reaped. Where the program
/// that we live in reaps all children itself, that is as good. A forked child only lets go of it.
/// Not thread-safe.
class SpawnedProcess {
 public:
  /// Runs the program in a process group of its own, with `standard_input` as that and nothing else
  /// of ours: of the environment only what it goes by, and a set-uid program's not at all.
  /// CCCL_CACHE_UNAVAILABLE: it could not be run.
  static Expected<SpawnedProcess> Start(const std::string& path, int standard_input);
  SpawnedProcess(SpawnedProcess&& other) noexcept;
  SpawnedProcess& operator=(SpawnedProcess&&) = delete;
  ~SpawnedProcess() {
    if (owned()) End();
  }

  /// Whether this process started it.
  [[nodiscard]] bool owned() const { return getpid() == owner_; }

  /// Kills it unless it has ended, and tells how it did: "exit status 1", "signal 11".
  std::string End();

 private:
  explicit SpawnedProcess(pid_t pid);

  pid_t pid_;  ///< 0: reaped
  const pid_t owner_ = getpid();
  FileDescriptor pidfd_;  ///< invalid on kernels without
  bool gone_;             ///< the program that we live in reaped it: its number is anybody's
};

}  // namespace cccl_cache
