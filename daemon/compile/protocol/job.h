// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// A job as the worker reads it. All members are views into the encoded job, which must outlive
/// this object. Each text is followed by a NUL.
struct WorkerJob {
  struct Header {
    std::string_view name;
    std::string_view contents;
  };
  struct LinkInput {
    LinkInputType type = LinkInputType::kUnspecified;
    std::string_view name;
    std::string_view contents;
  };
  struct Module {
    bool lazy = false;
    std::string_view name;
    std::string_view contents;
  };
  /// A directory of the toolchain's headers: the name that the compiler sees, and the real path. If
  /// a worker has a sandbox with Landlock, it opens files there itself. It asks the daemon for all
  /// others.
  struct MountPoint {
    std::string_view visible;
    std::string_view target;
  };

  BuildKind kind = BuildKind::kNvrtc;
  std::vector<std::string_view> options;
  std::vector<MountPoint> mounts;
  std::string_view visible_working_directory;

  // NVRTC
  std::string_view program_name;
  std::string_view source;
  std::vector<Header> headers;
  std::vector<std::string_view> name_expressions;
  // nvJitLink
  std::vector<LinkInput> inputs;
  // libNVVM
  std::vector<Module> modules;
  bool add_libdevice = false;
};

/// Returns the encoded job. It refers to the long texts of the job's request, which must outlive
/// it.
[[nodiscard]] ByteWriter EncodeJob(const CompileJob& job);
[[nodiscard]] Result<WorkerJob> DecodeJob(std::string_view bytes);

/// A worker's reply. Its encoding was checked, but the values are untrusted (see CheckReply).
struct WorkerReply {
  struct Part {
    ArtifactKind kind = ArtifactKind::kPtx;
    std::string bytes;
    bool operator==(const Part&) const = default;
  };

  bool succeeded = false;
  int native_code = 0;      ///< the library's result; 0 if succeeded
  std::string native_name;  ///< the name of the result code: "NVRTC_ERROR_COMPILATION"
  std::string log;
  std::vector<Part> parts;  ///< at most one of each kind; empty if the compile failed
  std::vector<std::pair<std::string, std::string>> lowered_names;
  uint64_t peak_resident_bytes = 0;
  /// The architectures that NVRTC supports, as 90 for sm_90. Empty for other libraries, and if
  /// NVRTC can't list them.
  std::vector<uint32_t> architectures;
};

/// Encodes the payload of a reply frame. The result refers to long texts in `reply`, which must
/// outlive it.
[[nodiscard]] ByteWriter EncodeReply(const WorkerReply& reply);
/// Decodes the payload of a reply frame. Returns kWorkerCrashed if it is malformed, because the
/// worker is then broken or under the control of an attacker. The largest part keeps the payload's
/// memory, to save a copy.
[[nodiscard]] Result<WorkerReply> DecodeReply(std::string payload);

}  // namespace cccl_cache::daemon
