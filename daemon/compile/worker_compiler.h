// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/compile/file_service.h"
#include "daemon/compile/zygote.h"
#include "daemon/compile/zygote_pool.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/system/job_memory.h"

namespace cccl_cache::daemon {

/// Compiles each job in a process of its own, a worker, which is forked from a zygote that has
/// loaded the toolchain. Of a worker, only the bytes of its reply are used, and only after its
/// death. A job leaves no process and no descriptor behind. It leaves a thread behind only if a
/// read of a file hangs. Thread-safe.
class WorkerCompiler final : public Compiler {
 public:
  /// `worker_path` is the path of the program cccl-cached-worker. `memory` limits the memory for
  /// replies. It may be null: then there is no limit.
  WorkerCompiler(std::string worker_path, ZygoteOptions options, ZygotePool::ReportFunction report,
                 std::shared_ptr<JobMemory> memory = nullptr);

  /// Compiles one job. The time limit includes loading the toolchain.
  Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                std::stop_token stop) override;

  /// Runs a worker that parses the job's program and writes a precompiled header into memory. The
  /// workers of later jobs can read it.
  Result<std::shared_ptr<const Precompiled>> Precompile(const CompileJob& job,
                                                        const CompileLimits& limits,
                                                        std::stop_token stop) override;

  /// Returns whether the account has zygotes of its own: for ten minutes after one of its workers
  /// died by a signal for which IsOwnSignal() is true.
  [[nodiscard]] bool KeepsApart(const Toolchain& toolchain, Account account) override;

  /// Loads the toolchain, so that its first job need not wait for that.
  Status Warm(const Toolchain& toolchain);
  /// Ends the zygotes of all toolchains that are not in `toolchains`.
  void KeepOnly(std::span<const ToolchainPtr> toolchains);

  [[nodiscard]] std::vector<ZygoteActivity> Zygotes() const { return pool_.List(); }
  /// Returns the number of threads that still wait for a file system although their job has ended.
  /// If a user has too many of them, each job of that user fails with kUnavailable at its first
  /// question.
  [[nodiscard]] size_t hung_reads() const { return hung_reads_->count(); }

 private:
  struct Attempt {
    Result<CompileOutput> output;
    bool again = false;  ///< another attempt may succeed
  };

  struct Pch {
    PchUse use = PchUse::kNone;
    int fd = -1;
    std::shared_ptr<Zygote> zygote;  ///< only workers of this zygote can use the header
  };
  struct Work {
    const CompileJob& job;
    const CompileLimits& limits;  ///< `deadline` is set
    const FileDescriptor& sealed_job;
    int stop_fd;
    const std::stop_token& stop;
    const Pch* pch;  ///< null if the job uses no precompiled header
  };

  /// Runs a job. If it fails for a reason that may lie in the zygote, runs it once more, but only
  /// if `pch` is null.
  Result<CompileOutput> Run(const CompileJob& job, const CompileLimits& limits,
                            std::stop_token stop, const Pch* pch);
  /// Runs one attempt in a zygote from the pool.
  Attempt RunAnywhere(const Work& work, const std::stop_token& stop);
  /// Runs one worker of this zygote until its end.
  Attempt RunWorker(const Work& work, const std::shared_ptr<Zygote>& zygote);
  static Attempt Retryable(Error error);

  /// Reserves `bytes` of memory for the job's reply, and charges them to the requester's account.
  [[nodiscard]] Result<JobMemory::Share> TakeMemory(const Work& work, uint64_t bytes);

  ZygotePool pool_;
  const std::shared_ptr<JobMemory> memory_;
  const std::shared_ptr<HungReads> hung_reads_ = std::make_shared<HungReads>();
};

/// Encodes the job into a memfd that is sealed against all changes. Returns kUnavailable if there
/// is no memory or no free descriptor.
[[nodiscard]] Result<FileDescriptor> SealJob(const CompileJob& job);

/// A memfd into which a worker writes a precompiled header, before it is sealed. Used by one
/// thread.
class PchDraft {
 public:
  static Result<PchDraft> Make();

  /// Returns the descriptor of the memfd, which the worker inherits.
  [[nodiscard]] int fd() const { return memory_.get(); }
  /// Makes the written memfd immutable. To be called after the worker's death. Only workers of this
  /// zygote can use the result. Returns kUnavailable if the worker wrote nothing, or if another
  /// process still maps the memfd for writing.
  [[nodiscard]] Result<std::shared_ptr<const Precompiled>> Seal(
      const std::shared_ptr<Zygote>& zygote) &&;

 private:
  explicit PchDraft(FileDescriptor memory) : memory_(std::move(memory)) {}

  FileDescriptor memory_;
};

/// A sealed precompiled header. It contains addresses, so only workers of the zygote that forked
/// its writer can use it, and only as long as that zygote accepts jobs. The object does not keep
/// the zygote alive. Immutable.
class PrecompiledHeader final : public Precompiled {
 public:
  PrecompiledHeader(FileDescriptor memory, uint64_t bytes, const std::shared_ptr<Zygote>& zygote)
      : memory_(std::move(memory)), bytes_(bytes), zygote_(zygote) {}

  [[nodiscard]] uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] bool usable() const override { return zygote() != nullptr; }

  /// Returns the zygote, or null if it takes no more jobs.
  [[nodiscard]] std::shared_ptr<Zygote> zygote() const;
  /// Returns a read-only descriptor with its own offset, at the beginning of the file. Returns an
  /// invalid one if the process has no free descriptor.
  [[nodiscard]] FileDescriptor OpenForWorker() const;

 private:
  const FileDescriptor memory_;
  const uint64_t bytes_;
  const std::weak_ptr<Zygote> zygote_;
};

}  // namespace cccl_cache::daemon
