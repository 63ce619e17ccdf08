// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

class JobFiles;

/// Every canonical name begins with this, a root's number and a slash.
inline constexpr std::string_view kCanonicalPrefix = "/cccl-root-";

/// A directory as the compiler sees it and where it really is.
struct Mount {
  std::string visible;   ///< absolute, no trailing slash: "/cccl-root-1"; or the real path itself
  std::string target;    ///< absolute real path; empty: nowhere
  bool trusted = false;  ///< one of the toolchain's own directories, or inside one
};

/// A program's text that a compiler has parsed already, for programs that begin with it.
class Precompiled {
 public:
  virtual ~Precompiled() = default;

  /// Memory that it holds.
  [[nodiscard]] virtual uint64_t bytes() const = 0;
  /// Whether a compile can still begin with it. Once false, false for ever.
  [[nodiscard]] virtual bool usable() const = 0;
};

/// Exactly what one worker does. The request gives the texts; everything that depends on options,
/// roots or the toolchain was decided by the plan.
struct CompileJob {
  ToolchainPtr toolchain;
  std::shared_ptr<const BuildRequest> request;
  std::vector<std::string> options;  ///< handed to the compiler as they are
  std::string program_name;          ///< NVRTC: as the compiler sees it
  /// NVRTC: longest visible prefix wins. A name under none of them lies outside.
  std::vector<Mount> mounts;
  std::string visible_working_directory;  ///< what getcwd answers
  /// On whose behalf; none: the daemon's own. Where workers can't be confined, others than its own
  /// user are refused: kDenied.
  std::optional<uid_t> requester;
  Account account{0};  ///< on which its questions that hang, and its reply, are counted
  /// Runs at idle priority: a shadow check.
  bool background = false;
  /// Answers for every name outside the trusted directories. A question that hangs when the job
  /// ends keeps the files in use after Compile has returned an error: another attempt needs others.
  /// Null: nothing lies outside.
  std::shared_ptr<JobFiles> files;
  /// What the compiler is spared: made by the same compiler object of a job that differs in the
  /// program's text and base name, in name expressions and in the seed alone, and whose text this
  /// program begins with. Null: nothing.
  std::shared_ptr<const Precompiled> precompiled;
};

/// What a worker made of a job. `artifact` is set for compile failures too (log, no parts).
struct CompileOutput {
  bool succeeded = false;
  int native_code = 0;      ///< the library's own result
  std::string native_name;  ///< "NVRTC_ERROR_COMPILATION"
  ArtifactPtr artifact;
  bool precompiled_headers = false;  ///< the job had them
  /// The artifact's bytes on the requester's account (JobMemory), until tiers and callers have it.
  std::shared_ptr<const void> memory = nullptr;

  /// Says what the compiler answered. Of one that did not succeed.
  [[nodiscard]] std::string Reason() const { return "the compiler answered " + native_name; }
};

struct CompileLimits {
  std::chrono::milliseconds time{120'000};  ///< of all attempts at one job together
  uint64_t memory_bytes = 4ull << 30;
  /// When that time ends; none: it begins with the next attempt.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;

  /// The same with its deadline fixed, if it was not before.
  [[nodiscard]] CompileLimits Started() const;
};

/// Runs one job to its end. Implementations are thread-safe; Compile blocks the calling thread.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// Ends by the deadline of `limits`, whatever the time went into. kWorkerCrashed, kTimedOut,
  /// kOutOfMemory, kCancelled (stop was requested), kUnavailable (no worker could be started). A
  /// compile failure is an output, not an error. An error of the job's files comes back as it is.
  ///
  /// With a precompiled beginning: kUnavailable, and useless_precompiled, also if that turned out
  /// to be of no use; the same job may succeed without.
  virtual Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                        std::stop_token stop) = 0;

  /// Parses the job's program, which is all directives. Ends by the deadline, with the errors of
  /// Compile; kUnavailable also if the compiler has something to say about the text, which it would
  /// not say again, or can't keep it. Not every implementation can.
  virtual Result<std::shared_ptr<const Precompiled>> Precompile(const CompileJob& job,
                                                                const CompileLimits& limits,
                                                                std::stop_token stop);

  /// Whether jobs of this account are kept apart from those of others for now: then they have no
  /// part in what is precompiled.
  [[nodiscard]] virtual bool KeepsApart(const Toolchain& /*toolchain*/, Account /*account*/) {
    return false;
  }
};

/// What a name outside the toolchain is for one job.
struct FileAnswer {
  FileKind kind = FileKind::kAbsent;
  /// Not 0 if something is there: the same for two names if and only if they are one inode, and the
  /// same again when the same job runs elsewhere. Compilers see it as the inode number. The
  /// program's and the working directory have one of their own each, without being looked at.
  uint64_t identity = 0;
  std::shared_ptr<const std::string> contents;  ///< of a file
};

/// Answers what the compiler of one job asks for, and records what it answered: that record is the
/// closure, whatever the worker says. The worker opens the toolchain's own headers by itself, once
/// it has said so: bytes that could take it over are on record before it reads them.
class JobFiles {
 public:
  virtual ~JobFiles() = default;

  /// `name`: absolute, as the compiler sees it, without "." and "//", ".." as it was written. The
  /// same name always has the same answer. An error is the end of the job: it fails with it. Blocks
  /// as long as the disk does; one call at a time.
  virtual Result<FileAnswer> Ask(std::string_view name) = 0;
  /// The compiler is about to look at what lies under a name in the toolchain's trusted
  /// directories, or below it, and may do so once this has returned. Waits for no disk.
  virtual Status LookInToolchain(std::string_view name) = 0;
};

}  // namespace cccl_cache::daemon
