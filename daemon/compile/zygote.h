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
  FileDescriptor reply;   ///< SOCK_STREAM; receives the reply frame of the worker
  FileDescriptor status;  ///< SOCK_SEQPACKET; receives the zygote's messages about the worker
  FileDescriptor files;   ///< SOCK_SEQPACKET for the worker's questions; invalid if it may ask none
};

/// Controls one zygote: a process cccl-cached-worker that has loaded one toolchain and forks a
/// worker for each job. The code of that process is in daemon/worker/zygote.h. The destructor ends
/// the process and its workers, so callers must keep the object while a job runs. Thread-safe.
class Zygote {
 public:
  /// Starts the process and waits until it has loaded the toolchain. Returns kUnavailable if
  /// loading fails or takes longer than `deadline`. The message gives the reason.
  static Result<std::shared_ptr<Zygote>> Start(const std::string& worker_path,
                                               const ZygoteHello& hello,
                                               std::chrono::milliseconds deadline);
  /// Closes the control socket, by which the process ends. Kills it if it does not end.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  struct Order {
    const FileDescriptor& job;  ///< the encoded job in a sealed memfd
    uint64_t memory_bytes = 0;
    bool asks = false;              ///< the worker may ask for files
    bool may_lack_sandbox = false;  ///< see SpawnRequest
    bool background = false;        ///< see SpawnRequest
    bool bundled_headers = false;   ///< see SpawnRequest
    PchUse pch = PchUse::kNone;
    int pch_fd = -1;  ///< memfd of the precompiled header; -1 if `pch` is kNone
  };
  /// Has the zygote fork a worker. The zygote reports the result on the status socket.
  Result<WorkerSockets> Spawn(const Order& order);

  /// Returns whether the zygote can take another job: it runs and was not marked as broken.
  [[nodiscard]] bool Usable() const { return !broken_.load() && !process_.Ended(); }
  /// Marks the zygote as broken, so that it gets no more jobs.
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
  ZygoteReady sandbox_;  ///< set by Load(), then constant
  std::atomic<bool> broken_{false};
  std::atomic<uint64_t> spawned_{0};
  FileDescriptor control_;
  Mutex sending_;  ///< held while an order is sent on control_
};

/// Returns the first message to a zygote for this toolchain.
[[nodiscard]] ZygoteHello HelloFor(const Toolchain& toolchain);

}  // namespace cccl_cache::daemon
