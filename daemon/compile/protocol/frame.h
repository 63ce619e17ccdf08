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

/// Increase it with every change of a message in this file, job.h or packet.h.
inline constexpr uint32_t kWorkerProtocol = 8;

/// Exit statuses of a worker without a reply. kExitNotStarted: the isolation could not be applied,
/// or the job could not be read. kExitReplyLost: the daemon had closed the reply socket.
/// kExitFilesLost: the daemon had closed the files socket. A compiler may use any status too, so
/// these only explain a failure.
inline constexpr int kExitNotStarted = 70;
inline constexpr int kExitReplyLost = 71;
inline constexpr int kExitFilesLost = 72;
/// The sandbox could not be entered.
inline constexpr int kExitNoSandbox = 73;

/// Limit of a reply in bytes: the largest artifact that the tiers store by default.
inline constexpr uint64_t kMaxReplyBytes = 256ull << 20;

/// One compiler library, and the libraries to open before it.
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
  /// The zygote forks a worker for the next job in advance, which touches its memory while it
  /// waits.
  bool forks_ahead = true;

  bool operator==(const ZygoteHello&) const = default;
};

/// A job's use of the precompiled header.
enum class PchUse : uint8_t {
  kNone = 0,   ///< the job has none
  kWrite = 1,  ///< output: the worker writes the precompiled header into it
  kRead = 2,   ///< input: the precompiled header that the program begins with
};

/// The file name of the precompiled header for the compiler. No other file of a job has this name.
inline constexpr std::string_view kPchName = "/cccl-pch/preamble.pch";
/// NVRTC parses into memory at one address, which is reserved before a zygote forks; the file is a
/// copy of the used part. With NVRTC 13.0, CUB's blocks take 183 MiB, all kernels of its algorithms
/// 239 MiB, and these with all of Thrust, libcu++, cooperative groups and the usual narrow types
/// 255 MiB.
inline constexpr uint64_t kPchHeapBytes = 320ull << 20;

struct SpawnRequest {
  uint64_t job_id = 0;
  uint64_t memory_bytes = 0;  ///< RLIMIT_DATA of the worker
  /// For the daemon's own user: the worker runs its job even without a sandbox.
  bool may_lack_sandbox = false;
  bool background = false;  ///< runs only when no other process wants the processor
  PchUse pch = PchUse::kNone;

  bool operator==(const SpawnRequest&) const = default;
};

/// The confinement of workers, as far as the kernel supports it.
enum class SandboxKind : uint8_t {
  kReadsToolchain = 1,  ///< Landlock and seccomp
  kOpensNothing = 2,    ///< seccomp alone: the worker asks for the toolchain's headers too
  kNone = 3,            ///< no seccomp: only for callers with all rights of the daemon
};

struct ZygoteReady {
  SandboxKind sandbox = SandboxKind::kNone;
  std::string description;  ///< description of the sandbox for the log: "Landlock ABI 4 and
                            ///< seccomp"
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
  bool refused_memory = false;  ///< the worker was refused memory
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
