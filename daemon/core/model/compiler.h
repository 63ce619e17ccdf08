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

/// The beginning of canonical names, which replace the real names of directories that a compiler
/// reads. A canonical name is this prefix, the number of a root, a slash and a path.
inline constexpr std::string_view kCanonicalPrefix = "/cccl-root-";

/// The name of the directory in which the compiler sees the headers that its own library contains
/// (--use-bundled-headers). Workers have them in memory.
inline constexpr std::string_view kBundledDirectory = "/cccl-root-bundled";

/// A directory with the name that the compiler sees and its real path.
struct Mount {
  std::string visible;   ///< absolute, without a slash at the end, such as "/cccl-root-1"; or equal
                         ///< to `target`
  std::string target;    ///< absolute real path; empty if the directory does not exist
  bool trusted = false;  ///< whether it is one of the toolchain's own directories or inside one
};

/// The beginning of a program, which a compiler has already parsed. Compiles of programs that begin
/// with the same text can use it.
class Precompiled {
 public:
  virtual ~Precompiled() = default;

  /// Returns the size in memory, in bytes.
  [[nodiscard]] virtual uint64_t bytes() const = 0;
  /// Returns whether compiles can still use it. Once false, it stays false.
  [[nodiscard]] virtual bool usable() const = 0;
};

/// What a worker process needs for one compile. The request contains the texts. The other members
/// come from the plan, as far as they depend on options, roots or the toolchain.
struct CompileJob {
  ToolchainPtr toolchain;
  std::shared_ptr<const BuildRequest> request;
  std::vector<std::string> options;  ///< passed to the compiler unchanged
  std::string program_name;          ///< name of the program for the compiler; only for NVRTC
  /// The directories that the compiler can read; only for NVRTC. If several contain a name, the one
  /// with the longest `visible` applies. Names in none of them are outside.
  std::vector<Mount> mounts;
  bool bundled_headers = false;           ///< whether kBundledDirectory exists
  std::string visible_working_directory;  ///< the compiler's working directory
  /// The user for whom the job runs; none for a job of the daemon itself. If workers can't run in a
  /// sandbox, jobs for any uid except the daemon's own fail with kDenied.
  std::optional<uid_t> requester;
  Account account{0};  ///< charged for the reply, and for questions about files that hang
  /// Whether to run with idle priority, because no caller waits.
  bool background = false;
  /// Answers the compiler's questions about files outside the trusted directories. Null if there
  /// are no such files. A question that hangs may still use the object after Compile has returned
  /// an error. So the next attempt needs a new object.
  std::shared_ptr<JobFiles> files;
  /// An earlier compile's parsed text with which this program begins; null if there is none. The
  /// same Compiler must have made it, for a job that differed only in the rest of the program, in
  /// its base name, in name expressions and in the seed. For LTO-IR, the earlier job may also have
  /// made relocatable PTX, if its other options were equal.
  std::shared_ptr<const Precompiled> precompiled;
  /// If not null, set to the peak memory of the job's workers in bytes, if that is greater than
  /// before. Written by the thread that calls Compile or Precompile.
  uint64_t* peak_bytes = nullptr;
};

/// The result of a job. `artifact` is also set if the compiler rejected the program; then it has a
/// log and no parts.
struct CompileOutput {
  bool succeeded = false;
  int native_code = 0;      ///< the result code of the compiler library
  std::string native_name;  ///< the name of the result code, such as "NVRTC_ERROR_COMPILATION"
  ArtifactPtr artifact;
  /// The architectures that this NVRTC supports, such as 90 for sm_90. Empty if it can't list them.
  std::vector<uint32_t> architectures = {};
  bool precompiled_headers = false;  ///< whether the compiler used precompiled headers
  /// While this object lives, the artifact's bytes are charged to the requester's account. It lives
  /// until tiers and callers have the artifact.
  std::shared_ptr<const void> memory = nullptr;

  /// Returns the compiler's result as a sentence. Must not be called for a success.
  [[nodiscard]] std::string Reason() const { return "the compiler answered " + native_name; }
};

struct CompileLimits {
  std::chrono::milliseconds time{120'000};  ///< maximum time of one job, including all its attempts
  uint64_t memory_bytes = 4ull << 30;
  /// The time at which the job must end. If none, it is `time` after the start of the next attempt.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;

  /// Returns these limits with `deadline` set. A deadline that was set before stays.
  [[nodiscard]] CompileLimits Started() const;
};

/// Runs compilers. Implementations are thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// Compiles a job. Blocks the calling thread, but no longer than until the deadline of `limits`.
  /// If the compiler rejects the program, this is an output and no error. Errors are
  /// kWorkerCrashed, kTimedOut, kOutOfMemory, kCancelled (`stop` was requested) and kUnavailable
  /// (no worker could be started). An error of `job.files` is returned as it is.
  ///
  /// If kUnavailable comes with useless_precompiled, the job's `precompiled` can't be used. The
  /// same job may succeed without it.
  virtual Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                        std::stop_token stop) = 0;

  /// Parses the program of a job, which must have only preprocessor directives. Has the time limit
  /// and the errors of Compile. Also returns kUnavailable if the parsed text can't be kept, or if
  /// the compiler logs something about it. Compiles that use the parsed text would lack that log.
  /// The default implementation always returns kUnavailable.
  virtual Result<std::shared_ptr<const Precompiled>> Precompile(const CompileJob& job,
                                                                const CompileLimits& limits,
                                                                std::stop_token stop);

  /// Returns whether jobs of this account run isolated from those of other accounts now. Such jobs
  /// can't use precompiled texts.
  [[nodiscard]] virtual bool KeepsApart(const Toolchain& /*toolchain*/, Account /*account*/) {
    return false;
  }
};

/// The answer to a compiler's question about a file outside the toolchain.
struct FileAnswer {
  FileKind kind = FileKind::kAbsent;
  /// The inode number that the compiler sees; 0 for an absent file. Two names have the same number
  /// if and only if they are the same file or directory. The number is the same on all nodes. The
  /// directory of the program and the working directory have fixed numbers, so that no disk is read
  /// for them.
  uint64_t identity = 0;
  std::shared_ptr<const std::string> contents;  ///< null unless it is a file
};

/// Answers a compiler's questions about files for one job, and records the answers as the closure.
/// The record does not depend on what the worker process reports later. The worker opens the
/// toolchain's own headers itself, but announces each name first. So the record is complete even if
/// the contents of a header take control of the worker.
class JobFiles {
 public:
  virtual ~JobFiles() = default;

  /// Returns the answer for a name. It is the same for each question about this name. `name` is an
  /// absolute path as the compiler spells it, without "." and "//"; it may contain "..". An error
  /// ends the job with this error. Reads files, and so may block as long as the file system does.
  /// May be called by one thread at a time.
  virtual Result<FileAnswer> Ask(std::string_view name) = 0;
  /// Records that the compiler will look at this name in a trusted directory of the toolchain. The
  /// compiler looks only after this has returned. Does not wait for a disk.
  virtual Status LookInToolchain(std::string_view name) = 0;
};

}  // namespace cccl_cache::daemon
