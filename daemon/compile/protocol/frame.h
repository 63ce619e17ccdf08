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

/// The messages between the daemon, a zygote and its workers. They are encoded with ByteWriter.
///
/// Control socket (SOCK_SEQPACKET, descriptor 3 of the zygote):
///   daemon -> zygote: one ZygoteHello, then one SpawnRequest for each job, with three to five
///     descriptors in this order: the job (a sealed memfd, see job.h), the worker's end of the
///     reply socket (SOCK_STREAM), the zygote's end of the status socket (SOCK_SEQPACKET), the
///     precompiled header (a memfd) if the request says so, and the worker's end of the files
///     socket (SOCK_SEQPACKET, see packet.h) if the worker may ask for files.
///     At the end of file, the zygote and its workers end.
///   zygote -> daemon: one ZygoteReady or LoadFailed, before it serves the first SpawnRequest.
/// Status socket of a job:
///   zygote -> daemon: SpawnFailed; or Spawned with a pidfd of the worker, and Exited after its
///     death. Then the end of file. If it comes without these messages, the zygote has died.
/// Reply socket of a job:
///   worker -> daemon: one reply frame, then the end of file. If the worker dies before that, the
///     frame is missing or incomplete.
namespace cccl_cache::daemon {

/// Increase it with every change of a message in this file, job.h or packet.h.
inline constexpr uint32_t kWorkerProtocol = 9;

/// Exit statuses of a worker that could not reply. kExitNotStarted: the worker could not apply its
/// resource limits, or could not read the job. kExitReplyLost: the daemon had closed the reply
/// socket. kExitFilesLost: the daemon had closed the files socket. A compiler may exit with the
/// same statuses, so they are used only to explain a failure.
inline constexpr int kExitNotStarted = 70;
inline constexpr int kExitReplyLost = 71;
inline constexpr int kExitFilesLost = 72;
/// Exit status of a worker that could not enter the sandbox.
inline constexpr int kExitNoSandbox = 73;

/// Limit of a reply in bytes. By default, larger artifacts are not stored in any cache.
inline constexpr uint64_t kMaxReplyBytes = 256ull << 20;

/// One compiler library, and the libraries to open before it.
struct LibraryFiles {
  std::string path;  ///< absolute
  std::vector<std::string> preload;

  bool operator==(const LibraryFiles&) const = default;
};

/// The first message to a zygote: the toolchain that it must load.
struct ZygoteHello {
  std::optional<LibraryFiles> nvrtc;
  std::optional<LibraryFiles> nvjitlink;
  std::optional<LibraryFiles> nvvm;
  std::string libdevice;  ///< path of libdevice; empty if the toolchain has none
  /// The directories with the toolchain's headers, as absolute paths without symlinks.
  std::vector<std::string> trusted_directories;
  /// Whether the zygote forks a worker for the next job in advance. While that worker waits for the
  /// job, it touches the memory that it will need.
  bool forks_ahead = true;

  bool operator==(const ZygoteHello&) const = default;
};

/// How a job uses a precompiled header.
enum class PchUse : uint8_t {
  kNone = 0,   ///< not at all
  kWrite = 1,  ///< the worker parses the program and writes the precompiled header into the memfd
  kRead = 2,   ///< the worker reads the precompiled header of the program's first lines
};

/// The name under which the compiler opens the precompiled header. No other file in a worker has
/// this name.
inline constexpr std::string_view kPchName = "/cccl-pch/preamble.pch";
/// The size of the memory into which NVRTC parses a precompiled header. It has the same address in
/// the zygote and its workers, and the header's file is a copy of its used part. With NVRTC 13.0,
/// the block-level headers of CUB take 183 MiB and all of CUB's kernels 239 MiB. With Thrust,
/// libcu++, cooperative groups and the usual narrow types, they take 255 MiB.
inline constexpr uint64_t kPchHeapBytes = 320ull << 20;

struct SpawnRequest {
  uint64_t job_id = 0;
  uint64_t memory_bytes = 0;  ///< RLIMIT_DATA of the worker
  /// The worker may run the job even if there is no sandbox. Only for jobs of the daemon's own
  /// user.
  bool may_lack_sandbox = false;
  bool background = false;  ///< the worker runs only while no other process needs the processor
  bool bundled_headers = false;  ///< the job reads the headers that the library contains
  PchUse pch = PchUse::kNone;

  bool operator==(const SpawnRequest&) const = default;
};

/// How workers are confined. A zygote uses the first kind that its kernel supports.
enum class SandboxKind : uint8_t {
  kReadsToolchain = 1,  ///< Landlock and seccomp: workers can open the toolchain's headers
  kOpensNothing = 2,    ///< only seccomp: workers ask the daemon even for the toolchain's headers
  kNone = 3,            ///< no confinement: only for clients with all rights of the daemon
};

struct ZygoteReady {
  SandboxKind sandbox = SandboxKind::kNone;
  std::string description;  ///< for the log, for example "Landlock ABI 4 and seccomp"
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
  int wait_status = 0;  ///< the worker's status from waitpid(2)
  uint64_t peak_resident_bytes = 0;
  std::chrono::microseconds cpu_time{0};
  bool refused_memory = false;  ///< the kernel refused the worker memory
  bool operator==(const Exited&) const = default;
};

using ControlMessage = std::variant<ZygoteHello, SpawnRequest>;
using ControlAnswer = std::variant<ZygoteReady, LoadFailed>;
using StatusMessage = std::variant<Spawned, SpawnFailed, Exited>;

[[nodiscard]] std::string EncodeControlMessage(const ControlMessage& message);
[[nodiscard]] std::string EncodeControlAnswer(const ControlAnswer& message);
[[nodiscard]] std::string EncodeStatusMessage(const StatusMessage& message);

/// These functions return kUnavailable if `bytes` are malformed or have another protocol version.
[[nodiscard]] Result<ControlMessage> DecodeControlMessage(std::string_view bytes);
[[nodiscard]] Result<ControlAnswer> DecodeControlAnswer(std::string_view bytes);
[[nodiscard]] Result<StatusMessage> DecodeStatusMessage(std::string_view bytes);

/// The header of a worker's reply frame:
///   header = "CCRF" protocol:u32 length:u64
/// `length` is the size in bytes of the payload after the header (EncodeReply in job.h).
inline constexpr size_t kFrameHeaderBytes = 16;
[[nodiscard]] std::string EncodeFrameHeader(uint64_t payload_bytes);
/// Returns the size of the payload. `bytes` must be kFrameHeaderBytes long. Returns kUnavailable if
/// they are malformed or have another protocol version.
[[nodiscard]] Result<uint64_t> DecodeFrameHeader(std::string_view bytes);

}  // namespace cccl_cache::daemon
