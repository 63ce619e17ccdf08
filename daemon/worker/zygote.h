// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/core/model/result.h"
#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/files/bundled_headers.h"
#include "daemon/worker/files/memory_files.h"
#include "daemon/worker/sandbox/sandbox.h"
#include "daemon/worker/spare_worker.h"

namespace cccl_cache::daemon {

/// A process that has loaded the compilers of one toolchain and forks a worker for each job. It
/// never reads a client's bytes: the worker reads the job. The class of the same name in
/// daemon/compile/zygote.h controls this process from the daemon. Single-threaded.
class Zygote final : private SpareWorker::Role {
 public:
  /// Receives the daemon's first message, loads the toolchain in it, and sends the result to the
  /// daemon. `control` is the socket to the daemon.
  [[nodiscard]] static Result<Zygote> Start(FileDescriptor control);

  /// Forks a worker for each request, until the daemon closes the control socket. Returns an error
  /// if a message is malformed or a system call fails.
  [[nodiscard]] Status Run();

 private:
  Zygote(FileDescriptor control, ZygoteHello hello, CompilerLibraries libraries, Sandbox sandbox)
      : control_(std::move(control)),
        hello_(std::move(hello)),
        libraries_(std::move(libraries)),
        sandbox_(std::move(sandbox)) {}

  [[nodiscard]] Status Prepare();
  /// Receives a request and starts its worker. Returns false if the daemon has closed the socket.
  [[nodiscard]] Result<bool> TakeRequest();
  void Spawn(Packet packet, bool has_pch);
  struct Worker {
    bool has_pch = false;
    RefusedMemory refused_memory = {};
    FileDescriptor status = {};  ///< socket to the daemon for the worker's status
  };
  /// Gives the request to the spare worker, or forks a worker. Returns the pid of the worker. The
  /// result is negative, and errno is set, if the system refuses the fork.
  [[nodiscard]] pid_t StartWorker(Packet& packet, Worker& worker);
  [[nodiscard]] Status EndSpare();
  /// Unpacks the headers that NVRTC's library contains, unless that was done before.
  [[nodiscard]] Status ProvideBundledHeaders();
  void Begin() override;
  [[noreturn]] void Work(Packet packet) override;
  void ReapWorkers();

  FileDescriptor control_;
  ZygoteHello hello_;
  CompilerLibraries libraries_;
  Sandbox sandbox_;               ///< every worker enters it
  FileDescriptor child_signals_;  ///< signalfd for SIGCHLD
  FileDescriptor null_device_;
  uint64_t own_data_bytes_ = 0;     ///< the zygote's bytes that RLIMIT_DATA counts
  uint64_t own_address_bytes_ = 0;  ///< the zygote's bytes that RLIMIT_AS counts
  std::map<pid_t, Worker> workers_;
  const pid_t own_pid_ = getpid();
  std::optional<SpareWorker> spare_;  ///< gets the next request
  uint64_t memory_bytes_ = 0;         ///< memory limit of the last request
  TouchedBytes touched_bytes_;
  std::optional<BundledHeaders> bundled_headers_;  ///< none until a job reads them
  HeapSetAside heap_set_aside_;
};

/// Returns the number of threads of this process. 0: /proc is not readable.
[[nodiscard]] int OwnThreads();

/// Returns the number of bytes that RLIMIT_DATA counts for this process now. 0: /proc is not
/// readable.
[[nodiscard]] uint64_t OwnDataBytes();

/// Returns the number of bytes that RLIMIT_AS counts for this process now. 0: /proc is not
/// readable.
[[nodiscard]] uint64_t OwnAddressBytes();

}  // namespace cccl_cache::daemon
