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

/// Compiles in processes: one worker for each job, forked from a zygote of its toolchain. Uses only
/// the bytes of a worker's reply, and only once the worker is dead. Thread-safe. A job leaves no
/// process and no descriptor behind; the only thread that it may leave behind is one that hangs in
/// a file.
class WorkerCompiler final : public Compiler {
 public:
  /// `worker_path`: the executable cccl-cached-worker. `memory`: the budget of replies; null: no
  /// limit.
  WorkerCompiler(std::string worker_path, ZygoteOptions options, ZygotePool::ReportFunction report,
                 std::shared_ptr<JobMemory> memory = nullptr);

  /// Compiles one job. The time limit includes loading the toolchain.
  Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                std::stop_token stop) override;

  /// Runs a worker that only parses and writes a precompiled header into memory, for the workers of
  /// later jobs.
  Result<std::shared_ptr<const Precompiled>> Precompile(const CompileJob& job,
                                                        const CompileLimits& limits,
                                                        std::stop_token stop) override;

  /// Returns true for ten minutes after a worker of the account died by a signal of its own.
  [[nodiscard]] bool KeepsApart(const Toolchain& toolchain, Account account) override;

  /// Loads a toolchain before its first job.
  Status Warm(const Toolchain& toolchain);
  /// Ends the zygotes of all toolchains except these, which still exist.
  void KeepOnly(std::span<const ToolchainPtr> toolchains);

  [[nodiscard]] std::vector<ZygoteActivity> Zygotes() const { return pool_.List(); }
  /// Returns the number of threads that still wait for a disk after their job has ended. A user
  /// with too many of them gets kUnavailable at a job's first question.
  [[nodiscard]] size_t hung_reads() const { return hung_reads_->count(); }

 private:
  struct Attempt {
    Result<CompileOutput> output;
    bool again = false;  ///< another attempt may succeed
  };

  struct Pch {
    PchUse use = PchUse::kNone;
    int fd = -1;
    std::shared_ptr<Zygote> zygote;  ///< the only zygote whose forks can use it
  };
  struct Work {
    const CompileJob& job;
    const CompileLimits& limits;  ///< with a deadline
    const FileDescriptor& sealed_job;
    int stop_fd;
    const std::stop_token& stop;
    const Pch* pch;  ///< null: none
  };

  /// `pch`: may be null; with it there is only one attempt.
  Result<CompileOutput> Run(const CompileJob& job, const CompileLimits& limits,
                            std::stop_token stop, const Pch* pch);
  /// Runs one attempt in a zygote from the pool.
  Attempt RunAnywhere(const Work& work, const std::stop_token& stop);
  /// Runs one worker, from its fork to its end.
  Attempt RunWorker(const Work& work, const std::shared_ptr<Zygote>& zygote);
  static Attempt Retryable(Error error);

  /// Reserves memory for a reply of this job, on the requester's account.
  [[nodiscard]] Result<JobMemory::Share> TakeMemory(const Work& work, uint64_t bytes);

  ZygotePool pool_;
  const std::shared_ptr<JobMemory> memory_;
  const std::shared_ptr<HungReads> hung_reads_ = std::make_shared<HungReads>();
};

/// Returns the encoded job in a memfd sealed against every change. kUnavailable: no memory.
[[nodiscard]] Result<FileDescriptor> SealJob(const CompileJob& job);

/// The file in memory into which a worker writes a precompiled header, until it is sealed. Used by
/// one thread.
class PchDraft {
 public:
  static Result<PchDraft> Make();

  /// Returns the descriptor for the worker.
  [[nodiscard]] int fd() const { return memory_.get(); }
  /// Makes the written file immutable; to be called after the worker's death. Only processes forked
  /// from this zygote can use it. kUnavailable: the worker wrote nothing, or another process has
  /// the file open.
  [[nodiscard]] Result<std::shared_ptr<const Precompiled>> Seal(
      const std::shared_ptr<Zygote>& zygote) &&;

 private:
  explicit PchDraft(FileDescriptor memory) : memory_(std::move(memory)) {}

  FileDescriptor memory_;
};

/// A sealed precompiled header. It contains addresses, so only forks of the zygote that forked its
/// writer can use it, while that zygote takes jobs. It does not keep the zygote alive. Immutable.
class PrecompiledHeader final : public Precompiled {
 public:
  PrecompiledHeader(FileDescriptor memory, uint64_t bytes, const std::shared_ptr<Zygote>& zygote)
      : memory_(std::move(memory)), bytes_(bytes), zygote_(zygote) {}

  [[nodiscard]] uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] bool usable() const override { return zygote() != nullptr; }

  /// Returns the zygote, or null if it takes no more jobs.
  [[nodiscard]] std::shared_ptr<Zygote> zygote() const;
  /// Returns a read-only descriptor for one worker, at the beginning of the file; invalid if the
  /// process has no descriptor left.
  [[nodiscard]] FileDescriptor OpenForWorker() const;

 private:
  const FileDescriptor memory_;
  const uint64_t bytes_;
  const std::weak_ptr<Zygote> zygote_;
};

}  // namespace cccl_cache::daemon
