// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/child_process.h"
#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// The daemon's ends of the sockets of one job (frame.h).
struct WorkerSockets {
  FileDescriptor reply;   ///< SOCK_STREAM: one frame, from the worker
  FileDescriptor status;  ///< SOCK_SEQPACKET: from the zygote
  FileDescriptor files;   ///< SOCK_SEQPACKET: the worker's questions; invalid: it may ask none
};

/// The daemon's handle of one zygote: a running cccl-cached-worker with one toolchain loaded, which
/// forks a worker for each job. The class in daemon/worker/zygote.h is the process itself.
/// Thread-safe. The zygote's workers die with it, so the caller keeps the handle while a job runs.
class Zygote {
 public:
  /// Starts the process and returns when the toolchain is loaded. kUnavailable: loading failed or
  /// exceeded the deadline; the message says why.
  static Result<std::shared_ptr<Zygote>> Start(const std::string& worker_path,
                                               const ZygoteHello& hello,
                                               std::chrono::milliseconds deadline);
  /// Tells the process to end, and kills it if it does not.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  struct Order {
    const FileDescriptor& job;  ///< a sealed memfd
    uint64_t memory_bytes = 0;
    bool asks = false;              ///< the worker may ask for files
    bool may_lack_sandbox = false;  ///< see SpawnRequest
    bool background = false;        ///< see SpawnRequest
    PchUse pch = PchUse::kNone;
    int pch_fd = -1;  ///< -1: the job has none
  };
  /// Asks for a worker. The result comes on the status socket.
  Result<WorkerSockets> Spawn(const Order& order);

  /// Returns whether it can serve another job: it runs, and was not marked broken.
  [[nodiscard]] bool Usable() const { return !broken_.load() && !process_.Ended(); }
  /// Marks the zygote as broken: it is never used again.
  void MarkBroken() { broken_.store(true); }
  /// Returns the sandbox that its workers enter before they read a job.
  [[nodiscard]] const ZygoteReady& sandbox() const { return sandbox_; }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  /// Returns the number of workers requested so far.
  [[nodiscard]] uint64_t spawned() const { return spawned_.load(); }

 private:
  Zygote(ChildProcess process, FileDescriptor control)
      : process_(std::move(process)), control_(std::move(control)) {}

  /// Sends the hello and waits for the answer.
  Status Load(const ZygoteHello& hello, std::chrono::milliseconds deadline);

  ChildProcess process_;
  ZygoteReady sandbox_;  ///< constant once loaded
  std::atomic<bool> broken_{false};
  std::atomic<uint64_t> spawned_{0};
  FileDescriptor control_;
  Mutex sending_;  ///< held while an order is sent on control_
};

/// Returns the message that describes a toolchain to its zygote.
[[nodiscard]] ZygoteHello HelloFor(const Toolchain& toolchain);

}  // namespace cccl_cache::daemon
