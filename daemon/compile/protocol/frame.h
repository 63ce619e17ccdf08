// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/core/model/result.h"

/// The messages between the daemon and a zygote (encoding: ByteWriter).
///
/// Control socket (SOCK_SEQPACKET, the zygote's fd 3):
///   daemon -> zygote: one ZygoteHello, then a SpawnRequest per job with three to five descriptors,
///     in this order: the job (a sealed memfd, see job.h), the worker's end of the reply socket
///     (SOCK_STREAM), the zygote's end of the status socket (SOCK_SEQPACKET), the precompiled
///     header (a memfd) if the request says so, and the worker's end of the files socket
///     (SOCK_SEQPACKET, see packet.h) if the job has files to ask for.
///     End of file: the zygote and its workers end.
///   zygote -> daemon: one ZygoteReady or LoadFailed, before the first SpawnRequest is served.
/// Status socket of a job:
///   zygote -> daemon: Spawned with one descriptor, a pidfd, then Exited when the worker has died;
///     or SpawnFailed alone. Then end of file. End of file without one of these: the zygote has
///     died.
/// Reply socket of a job:
///   worker -> daemon: one reply frame, then end of file. A worker that dies first leaves the frame
///     incomplete.
namespace cccl_cache::daemon {

/// Raised when any message of this file, job.h or packet.h changes.
inline constexpr uint32_t kWorkerProtocol = 8;

/// Exit statuses of a worker that has not answered. kExitNotStarted: the isolation could not be
/// applied, or the job could not be read. kExitReplyLost: the daemon's end of the reply socket was
/// gone. kExitFilesLost: that of the files socket was gone. Compilers may use any status
/// themselves, so these only explain a failure.
inline constexpr int kExitNotStarted = 70;
inline constexpr int kExitReplyLost = 71;
inline constexpr int kExitFilesLost = 72;
/// The sandbox could not be entered.
inline constexpr int kExitNoSandbox = 73;

/// Longest reply that a worker may send: what the tiers store by default.
inline constexpr uint64_t kMaxReplyBytes = 256ull << 20;

/// One compiler library, and the libraries that are opened before it.
struct LibraryFiles {
  std::string path;  ///< absolute
  std::vector<std::string> preload;

  bool operator==(const LibraryFiles&) const = default;
};

/// The toolchain that a zygote serves.
struct ZygoteHello {
  std::optional<LibraryFiles> nvrtc;
  std::optional<LibraryFiles> nvjitlink;
  std::optional<LibraryFiles> nvvm;
  std::string libdevice;  ///< path, or empty
  /// Absolute real paths. The files in these directories are the toolchain's own.
  std::vector<std::string> trusted_directories;
  /// Whether the zygote forks a worker ahead for the next job, which waits with its memory.
  bool forks_ahead = true;

  bool operator==(const ZygoteHello&) const = default;
};

/// A job's use of the precompiled header that it is handed.
enum class PchUse : uint8_t {
  kNone = 0,   ///< it is handed none
  kWrite = 1,  ///< output: the worker writes the precompiled header into it
  kRead = 2,   ///< input: the precompiled header that the program begins with
};

/// The file name under which a compiler finds the precompiled header. No other file of a job has
/// this name.
inline constexpr std::string_view kPchName = "/cccl-pch/preamble.pch";
/// NVRTC parses into memory at one address, which is reserved before a zygote forks. The file is a
/// copy of the part that was used. With NVRTC 13.0 CUB's blocks take 183 MiB, and all kernels of
/// its algorithms 239 MiB. These with all of Thrust, libcu++, cooperative groups and the narrow
/// types that a program is likely to include take 255 MiB.
inline constexpr uint64_t kPchHeapBytes = 320ull << 20;

struct SpawnRequest {
  uint64_t job_id = 0;
  uint64_t memory_bytes = 0;  ///< RLIMIT_DATA of the worker
  /// For the daemon's own user: the worker does its job even where the kernel offers no sandbox.
  bool may_lack_sandbox = false;
  bool background = false;  ///< runs only where nothing else wants the processor
  PchUse pch = PchUse::kNone;

  bool operator==(const SpawnRequest&) const = default;
};

/// The confinement of workers, as far as the kernel supports it.
enum class SandboxKind : uint8_t {
  kReadsToolchain = 1,  ///< Landlock and seccomp
  kOpensNothing = 2,    ///< seccomp alone: the toolchain's headers too must be asked for
  kNone = 3,            ///< no seccomp: only for callers who may do all that the daemon can
};

struct ZygoteReady {
  SandboxKind sandbox = SandboxKind::kNone;
  std::string description;  ///< of that sandbox, for the log: "Landlock ABI 4 and seccomp"
  bool operator==(const ZygoteReady&) const = default;
};
struct LoadFailed {
  std::string message;
  bool operator==(const LoadFailed&) const = default;
};

struct Spawned {
  pid_t pid = 0;
  bool operator==(const Spawned&) const = default;
};
struct SpawnFailed {
  std::string message;
  bool operator==(const SpawnFailed&) const = default;
};
struct Exited {
  int wait_status = 0;  ///< as waitpid(2) reports it
  uint64_t peak_resident_bytes = 0;
  std::chrono::microseconds cpu_time{0};
  bool refused_memory = false;  ///< it asked for memory that it did not get
  bool operator==(const Exited&) const = default;
};

using ControlMessage = std::variant<ZygoteHello, SpawnRequest>;
using ControlAnswer = std::variant<ZygoteReady, LoadFailed>;
using StatusMessage = std::variant<Spawned, SpawnFailed, Exited>;

[[nodiscard]] std::string EncodeControlMessage(const ControlMessage& message);
[[nodiscard]] std::string EncodeControlAnswer(const ControlAnswer& message);
[[nodiscard]] std::string EncodeStatusMessage(const StatusMessage& message);

/// Errors (kUnavailable): malformed, truncated, trailing bytes, another protocol version.
[[nodiscard]] Result<ControlMessage> DecodeControlMessage(std::string_view bytes);
[[nodiscard]] Result<ControlAnswer> DecodeControlAnswer(std::string_view bytes);
[[nodiscard]] Result<StatusMessage> DecodeStatusMessage(std::string_view bytes);

/// The header of a worker's reply:
///   header = "CCRF" protocol:u32 length:u64
/// The length is that of the payload that follows (EncodeReply in job.h).
inline constexpr size_t kFrameHeaderBytes = 16;
[[nodiscard]] std::string EncodeFrameHeader(uint64_t payload_bytes);
/// Returns the payload's length. `bytes` must be kFrameHeaderBytes long.
[[nodiscard]] Result<uint64_t> DecodeFrameHeader(std::string_view bytes);

}  // namespace cccl_cache::daemon
