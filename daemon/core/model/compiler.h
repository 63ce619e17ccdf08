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

/// Every canonical name begins with this prefix, the number of a root and a slash.
inline constexpr std::string_view kCanonicalPrefix = "/cccl-root-";

/// A directory under the name that the compiler sees, and its real path.
struct Mount {
  std::string visible;   ///< absolute, without a trailing slash: "/cccl-root-1"; or the real path
                         ///< itself
  std::string target;    ///< absolute real path; empty if there is none
  bool trusted = false;  ///< whether it is one of the toolchain's own directories or inside one
};

/// A text that a compiler has already parsed, for programs that begin with it.
class Precompiled {
 public:
  virtual ~Precompiled() = default;

  /// Returns its memory in bytes.
  [[nodiscard]] virtual uint64_t bytes() const = 0;
  /// Returns whether a compile can still begin with it. False is final.
  [[nodiscard]] virtual bool usable() const = 0;
};

/// The job of one worker. The request has the texts. The plan has determined all parts that depend
/// on options, roots or the toolchain.
struct CompileJob {
  ToolchainPtr toolchain;
  std::shared_ptr<const BuildRequest> request;
  std::vector<std::string> options;  ///< passed to the compiler unchanged
  std::string program_name;          ///< NVRTC: the name that the compiler sees
  /// NVRTC: the longest visible prefix applies. A name under no mount is outside.
  std::vector<Mount> mounts;
  std::string visible_working_directory;  ///< the result of getcwd in the worker
  /// The uid for which the job runs; none for the daemon's own job. If workers can't be sandboxed,
  /// a job for any uid except the daemon's own fails with kDenied.
  std::optional<uid_t> requester;
  Account account{0};  ///< charged for its hanging questions and its reply
  /// Whether to run at idle priority, for a shadow check.
  bool background = false;
  /// Answers questions about all names outside the trusted directories. If a question hangs at the
  /// end of the job, it uses `files` even after Compile has returned an error, so another attempt
  /// needs another object. Null if no name is outside.
  std::shared_ptr<JobFiles> files;
  /// The text that the compiler need not parse again, or null. This program begins with that text.
  /// The same compiler object made it, for a job that differs only in the program's text and base
  /// name, in name expressions and in the seed. For LTO-IR, that job may also make relocatable PTX
  /// with otherwise equal options.
  std::shared_ptr<const Precompiled> precompiled;
  /// Raised to the peak memory of this job's workers, on the thread that calls Compile or
  /// Precompile. Null if not wanted.
  uint64_t* peak_bytes = nullptr;
};

/// The output of a job. `artifact` is also set for compile failures (log, no parts).
struct CompileOutput {
  bool succeeded = false;
  int native_code = 0;      ///< the library's result code
  std::string native_name;  ///< "NVRTC_ERROR_COMPILATION"
  ArtifactPtr artifact;
  /// The architectures that this NVRTC lists, 90 for sm_90. Empty if it can't list them.
  std::vector<uint32_t> architectures = {};
  bool precompiled_headers = false;  ///< the job used precompiled headers
  /// Charges the artifact's bytes to the requester's account (JobMemory) until tiers and callers
  /// have the artifact.
  std::shared_ptr<const void> memory = nullptr;

  /// Returns a sentence with the compiler's answer. Only for an output without success.
  [[nodiscard]] std::string Reason() const { return "the compiler answered " + native_name; }
};

struct CompileLimits {
  std::chrono::milliseconds time{120'000};  ///< for all attempts at one job in total
  uint64_t memory_bytes = 4ull << 30;
  /// End of `time`. None: `time` begins with the next attempt.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;

  /// Returns these limits with the deadline set, unless it is set already.
  [[nodiscard]] CompileLimits Started() const;
};

/// Runs one job to its end. Implementations are thread-safe; Compile blocks the calling thread.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// Always returns by the deadline of `limits`. Errors: kWorkerCrashed, kTimedOut, kOutOfMemory,
  /// kCancelled (stop was requested), kUnavailable (no worker could be started). A compile failure
  /// is an output, not an error. An error of the job's files is returned unchanged.
  ///
  /// With `precompiled`, an error kUnavailable with useless_precompiled also means that the parsed
  /// text is of no use. The same job may succeed without it.
  virtual Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                        std::stop_token stop) = 0;

  /// Parses the job's program, which has only directives. Returns by the deadline, with the errors
  /// of Compile. Also kUnavailable if the compiler logs something about the text, because it would
  /// not log it again, or if it can't keep the parsed text. Some implementations can't precompile.
  virtual Result<std::shared_ptr<const Precompiled>> Precompile(const CompileJob& job,
                                                                const CompileLimits& limits,
                                                                std::stop_token stop);

  /// Returns whether jobs of this account are isolated from those of others now. Such jobs do not
  /// use precompiled texts.
  [[nodiscard]] virtual bool KeepsApart(const Toolchain& /*toolchain*/, Account /*account*/) {
    return false;
  }
};

/// The answer to one job's question about a name outside the toolchain.
struct FileAnswer {
  FileKind kind = FileKind::kAbsent;
  /// The inode number that compilers see; 0 if absent. Two names have the same number if and only
  /// if they are one inode. The number is the same if the job runs elsewhere. The program's
  /// directory and the working directory have fixed numbers, without a disk access.
  uint64_t identity = 0;
  std::shared_ptr<const std::string> contents;  ///< of a file
};

/// Answers the file questions of one job's compiler and records the answers. That record is the
/// closure, whatever the worker reports. For a name among the toolchain's own headers, the worker
/// announces it before it opens the file itself. Bytes that could capture the worker are thus
/// recorded before it reads them.
class JobFiles {
 public:
  virtual ~JobFiles() = default;

  /// Returns the answer for a name, which is always the same. `name` is absolute, in the compiler's
  /// spelling without "." and "//", with ".." unchanged. An error ends the job, which fails with
  /// it. Blocks as long as the disk does; one call at a time.
  virtual Result<FileAnswer> Ask(std::string_view name) = 0;
  /// Records that the compiler is about to look at a name in the toolchain's trusted directories,
  /// or below it. The compiler may look after this has returned. Waits for no disk.
  virtual Status LookInToolchain(std::string_view name) = 0;
};

}  // namespace cccl_cache::daemon
