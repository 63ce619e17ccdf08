// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/file_descriptor.h"
#include "daemon/compile/child_process.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// The daemon's ends of the sockets of one job (frame.h).
struct WorkerSockets {
  FileDescriptor reply;   ///< SOCK_STREAM: one frame, from the worker
  FileDescriptor status;  ///< SOCK_SEQPACKET: from the zygote
  FileDescriptor files;   ///< SOCK_SEQPACKET: questions of the worker; invalid: it has none
};

/// One running cccl-cached-worker with one toolchain loaded, which forks a worker for each job.
/// Thread-safe. Its end is the end of all its workers, so whoever runs a job keeps the zygote.
class Zygote {
 public:
  /// Returns when the toolchain is loaded. kUnavailable: it could not be, within the deadline; the
  /// message says why.
  static Result<std::shared_ptr<Zygote>> Start(const std::string& worker_path,
                                               const ZygoteHello& hello,
                                               std::chrono::milliseconds deadline);
  /// Ends the process: it is asked to, and killed if it does not.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  struct Order {
    const FileDescriptor& job;  ///< a sealed memfd
    uint64_t memory_bytes = 0;
    bool asks = false;              ///< whether it may ask for files
    bool may_lack_sandbox = false;  ///< see SpawnRequest
    bool background = false;        ///< see SpawnRequest
    PchUse pch = PchUse::kNone;
    int pch_fd = -1;  ///< if it has one
  };
  /// Asks for a worker. What became of that is told on the status socket.
  Result<WorkerSockets> Spawn(const Order& order);

  /// Whether it can serve another job: it runs, and nothing about it was odd.
  [[nodiscard]] bool Usable() const { return !broken_.load() && !process_.Ended(); }
  /// It did something that it should not: never use it again.
  void MarkBroken() { broken_.store(true); }
  /// What its workers enter before they read a job.
  [[nodiscard]] const ZygoteReady& sandbox() const { return sandbox_; }
  /// Workers asked for so far.
  [[nodiscard]] uint64_t spawned() const { return spawned_.load(); }

 private:
  Zygote(ChildProcess process, FileDescriptor control)
      : process_(std::move(process)), control_(std::move(control)) {}

  /// Says hello and waits for the answer.
  Status Load(const ZygoteHello& hello, std::chrono::milliseconds deadline);

  ChildProcess process_;
  ZygoteReady sandbox_;  ///< constant once loaded
  std::atomic<bool> broken_{false};
  std::atomic<uint64_t> spawned_{0};
  std::mutex mutex_;
  FileDescriptor control_;  ///< sends guarded by mutex_
};

/// What a zygote is told about a toolchain.
[[nodiscard]] ZygoteHello HelloFor(const Toolchain& toolchain);

}  // namespace cccl_cache::daemon
