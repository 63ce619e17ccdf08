// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/owner_process.h"
#include "base/verified_descriptor.h"
#include "cccl_cache/expected.h"

namespace cccl_cache {

/// A child process that ends with this object: the destructor kills it if necessary and reaps it.
/// It tolerates a host program that reaps all children itself. In a forked child the destructor
/// only closes the descriptor. Not thread-safe.
class SpawnedProcess {
 public:
  /// Runs the program in its own process group, with `standard_input` as standard input. It
  /// inherits only the environment variables that it uses, and none from a set-uid program.
  /// CCCL_CACHE_UNAVAILABLE: it could not be run.
  static Expected<SpawnedProcess> Start(const std::string& path, int standard_input);
  SpawnedProcess(SpawnedProcess&& other) noexcept;
  SpawnedProcess& operator=(SpawnedProcess&&) = delete;
  ~SpawnedProcess() {
    if (owned()) End();
  }

  /// Returns whether this process started the child.
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }

  /// Kills it unless it has ended, and returns how it ended: "exit status 1", "signal 11".
  std::string End();

 private:
  explicit SpawnedProcess(pid_t pid);

  pid_t pid_;  ///< 0: reaped
  const OwnerProcess owner_;
  bool gone_ = false;         ///< the host program reaped it: its pid may be reused
  VerifiedDescriptor pidfd_;  ///< invalid on kernels before 6.9
};

}  // namespace cccl_cache
